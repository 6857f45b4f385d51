/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers of the kernel's as the names that C has for them. */
#ifndef DIFFER_NAMES_H
#define DIFFER_NAMES_H

#include <string>

namespace differ
{

/* "MSG_PEEK | MSG_OOB"; "0" if there is none. */
std::string send_flags_name(int flags);
std::string recv_flags_name(int flags);
std::string splice_flags_name(int flags);
std::string socket_flags_name(int flags);
std::string poll_events_name(int events);
std::string epoll_events_name(unsigned int events);

std::string how_name(int how);
std::string way_name(int way);
std::string waker_name(int waker);
std::string level_name(int level);
std::string option_name(int level, int option);
/* Of TCP's states. */
std::string state_name(int state);

/* The result of a system call: "5", or "-EAGAIN" by errno. */
std::string result_name(long rc);

} // namespace differ

#endif
