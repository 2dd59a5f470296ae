// What the example needs of rclcpp, to build it where ROS 2 is not installed; messages are kept, not sent.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#define RCLCPP_WARN(logger, ...) ((void)(logger), std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))

namespace rclcpp {

template <typename Message> struct Publisher {
    using SharedPtr = std::shared_ptr<Publisher>;
    void publish(const Message &message)
    {
        latest() = message;
        ++count();
    }
    static Message &latest()
    {
        static Message message;
        return message;
    }
    static int &count()
    {
        static int messages = 0;
        return messages;
    }
};

template <typename Message> struct Subscription {
    using SharedPtr = std::shared_ptr<Subscription>;
    static std::function<void(const Message &)> &callback()
    {
        static std::function<void(const Message &)> function;
        return function;
    }
};

class Node {
public:
    explicit Node(const std::string &) {}
    int get_logger() const { return 0; }

    template <typename Message>
    typename Publisher<Message>::SharedPtr create_publisher(const std::string &, int)
    {
        return std::make_shared<Publisher<Message>>();
    }

    template <typename Message, typename Callback>
    typename Subscription<Message>::SharedPtr create_subscription(const std::string &, int, Callback &&callback)
    {
        Subscription<Message>::callback() = std::forward<Callback>(callback);
        return std::make_shared<Subscription<Message>>();
    }
};

} // namespace rclcpp
