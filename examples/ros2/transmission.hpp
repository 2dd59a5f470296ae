// A transmission of ros2_control: the joints are the coordinates of a Delta's plate, the actuators its motors.
#pragma once

#include <stdexcept>
#include <vector>

#include "delta.hpp"
#include "transmission_interface/transmission.hpp"

class DeltaTransmission : public transmission_interface::Transmission {
public:
    // Handles of positions, in the order of delta::pose_names and delta::drive_names.
    void configure(const std::vector<transmission_interface::JointHandle> &joints,
                   const std::vector<transmission_interface::ActuatorHandle> &actuators) override
    {
        if (joints.size() != num_joints() || actuators.size() != num_actuators()) {
            throw std::invalid_argument("a Delta has three joints and three actuators");
        }
        joints_ = joints;
        actuators_ = actuators;
    }

    void actuator_to_joint() override
    {
        delta::Drives q{};
        delta::Pose x{};
        for (std::size_t i = 0; i < q.size(); ++i) {
            q[i] = actuators_[i].get_value();
        }
        if (delta::has_result(measured_.forward(q, x))) {
            for (std::size_t i = 0; i < x.size(); ++i) {
                joints_[i].set_value(x[i]);
            }
        }
    }

    // Out of reach the last command stays.
    void joint_to_actuator() override
    {
        delta::Drives q{};
        delta::Pose x{};
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = joints_[i].get_value();
        }
        if (delta::has_result(desired_.inverse(x, q))) {
            for (std::size_t i = 0; i < q.size(); ++i) {
                actuators_[i].set_value(q[i]);
            }
        }
    }

    std::size_t num_actuators() const override { return delta::drive_count; }
    std::size_t num_joints() const override { return delta::pose_size; }

private:
    // Each keeps its own last result.
    delta::Kinematics measured_;
    delta::Kinematics desired_;
    std::vector<transmission_interface::JointHandle> joints_;
    std::vector<transmission_interface::ActuatorHandle> actuators_;
};
