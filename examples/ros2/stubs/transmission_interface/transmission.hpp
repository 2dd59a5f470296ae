// What the example needs of ros2_control, to build it where ROS 2 is not installed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace transmission_interface {

class Handle {
public:
    Handle(const std::string &, const std::string &, double *value) : value_(value) {}
    double get_value() const { return *value_; }
    bool set_value(double value)
    {
        *value_ = value;
        return true;
    }

private:
    double *value_;
};

class JointHandle : public Handle {
public:
    using Handle::Handle;
};

class ActuatorHandle : public Handle {
public:
    using Handle::Handle;
};

class Transmission {
public:
    virtual ~Transmission() = default;
    virtual void configure(const std::vector<JointHandle> &, const std::vector<ActuatorHandle> &) = 0;
    virtual void actuator_to_joint() = 0;
    virtual void joint_to_actuator() = 0;
    virtual std::size_t num_actuators() const = 0;
    virtual std::size_t num_joints() const = 0;
};

} // namespace transmission_interface
