// What the example needs of the message, to build it where ROS 2 is not installed.
#pragma once

#include "../../std_header.hpp"

namespace geometry_msgs::msg {

struct Point {
    double x = 0.0;
    double y = 0.0;
    double z = 0.0;
};

struct PointStamped {
    std_msgs::msg::Header header;
    Point point;
};

} // namespace geometry_msgs::msg
