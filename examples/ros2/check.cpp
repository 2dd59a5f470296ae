// The transmission moves the plate on a circle, and the node finds it there; then it is sent out of reach.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "platform_state.hpp"
#include "transmission.hpp"

int main()
{
    using Plate = rclcpp::Publisher<geometry_msgs::msg::PointStamped>;
    using Motors = rclcpp::Subscription<sensor_msgs::msg::JointState>;
    double plate[3], motor[3];
    std::vector<transmission_interface::JointHandle> joints;
    std::vector<transmission_interface::ActuatorHandle> actuators;
    sensor_msgs::msg::JointState state;
    for (std::size_t i = 0; i < 3; ++i) {
        joints.emplace_back(delta::pose_names[i], "position", &plate[i]);
        actuators.emplace_back(delta::drive_names[i], "position", &motor[i]);
        // Messages have joints in any order, and others.
        state.name.push_back(delta::drive_names[2 - i]);
    }
    state.name.push_back("gripper");
    DeltaTransmission transmission;
    transmission.configure(joints, actuators);
    PlatformState node;
    double worst = 0.0;
    for (int k = 0; k < 1000; ++k) {
        const double angle = 6.283185307179586 * k / 1000.0;
        const double x[3] = {0.15 * std::cos(angle), 0.15 * std::sin(angle), -0.6};
        std::copy(x, x + 3, plate);
        transmission.joint_to_actuator();
        transmission.actuator_to_joint();
        state.position = {motor[2], motor[1], motor[0], 0.0};
        Motors::callback()(state);
        const auto &point = Plate::latest().point;
        const double here[3] = {point.x, point.y, point.z};
        for (int i = 0; i < 3; ++i) {
            worst = std::max({worst, std::abs(plate[i] - x[i]), std::abs(here[i] - x[i])});
        }
    }
    const double before = motor[0];
    plate[2] = -2.0;
    transmission.joint_to_actuator();
    state.position = {9.0, 9.0, NAN, 0.0};
    Motors::callback()(state);
    std::printf("plate, largest error in m: %.1e\n", worst);
    std::printf("poses: %d\n", Plate::count());
    std::printf("out of reach: %s\n", motor[0] == before ? "the motor stays" : "the motor moves");
    return 0;
}
