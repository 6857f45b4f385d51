/* SPDX-License-Identifier: GPL-2.0 */
/* A RoCE device that a test removes. */
#ifndef GUEST_REMOVABLE_DEVICE_H
#define GUEST_REMOVABLE_DEVICE_H

#include "agent.h"

namespace guest
{

/* The device of an agent's guest. It is there again when the object is destroyed. */
class RemovableDevice
{
public:
	/* The removal waits until no link group uses the device. */
	Job remove()
	{
		return agent.start({"run", "rdma link delete rxe0"});
	}
	RemovableDevice() = default;
	RemovableDevice(const RemovableDevice &) = delete;
	~RemovableDevice()
	{
		agent.run_command("rdma link show rxe0/1 || lab-rxe eth0");
	}

private:
	Agent agent;
};

} // namespace guest

#endif
