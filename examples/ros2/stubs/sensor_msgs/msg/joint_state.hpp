// What the example needs of the message, to build it where ROS 2 is not installed.
#pragma once

#include <string>
#include <vector>

#include "../../std_header.hpp"

namespace sensor_msgs::msg {

struct JointState {
    std_msgs::msg::Header header;
    std::vector<std::string> name;
    std::vector<double> position;
};

} // namespace sensor_msgs::msg
