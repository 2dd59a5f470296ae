#pragma once

#include <string>

namespace std_msgs::msg {

struct Header {
    std::string frame_id;
};

} // namespace std_msgs::msg
