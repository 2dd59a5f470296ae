// A ROS 2 node: where the plate of a Delta is, from the joint states of its motors.
#pragma once

#include <algorithm>

#include "delta.hpp"
#include "geometry_msgs/msg/point_stamped.hpp"
#include "rclcpp/rclcpp.hpp"
#include "sensor_msgs/msg/joint_state.hpp"

class PlatformState : public rclcpp::Node {
public:
    PlatformState() : Node("platform_state")
    {
        publisher_ = create_publisher<geometry_msgs::msg::PointStamped>("platform", 10);
        subscription_ = create_subscription<sensor_msgs::msg::JointState>(
            "joint_states", 10, [this](const sensor_msgs::msg::JointState &state) { update(state); });
    }

private:
    void update(const sensor_msgs::msg::JointState &state)
    {
        delta::Drives q{};
        delta::Pose x{};
        for (std::size_t i = 0; i < delta::drive_count; ++i) {
            const auto name = std::find(state.name.begin(), state.name.end(), delta::drive_names[i]);
            const auto k = static_cast<std::size_t>(name - state.name.begin());
            if (name == state.name.end() || k >= state.position.size()) {
                return; // the message of other joints
            }
            q[i] = state.position[k];
        }
        const delta::Status status = robot_.forward(q, x);
        if (!delta::has_result(status)) {
            RCLCPP_WARN(get_logger(), "%s", delta::message(status));
            return;
        }
        geometry_msgs::msg::PointStamped plate;
        plate.header = state.header;
        plate.point.x = x[0];
        plate.point.y = x[1];
        plate.point.z = x[2];
        publisher_->publish(plate);
    }

    delta::Kinematics robot_;
    rclcpp::Publisher<geometry_msgs::msg::PointStamped>::SharedPtr publisher_;
    rclcpp::Subscription<sensor_msgs::msg::JointState>::SharedPtr subscription_;
};
