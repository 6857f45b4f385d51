/* SPDX-License-Identifier: GPL-2.0 */
/* RDMA devices. */
#ifndef SMC_RDMA_DEVICE_H
#define SMC_RDMA_DEVICE_H

#include <linux/kref.h>
#include <linux/rculist.h>
#include <rdma/ib_verbs.h>

/**
 * struct smc_rdma_device - an RDMA device while this module may use it
 * @list: node in the list of all devices
 * @serial: serial number; grows along the list
 * @ibdev: the device; valid while a reference to this struct is held
 * @users: reference count; the device's removal waits until all references are dropped
 * @unused: completed when the last reference is dropped
 * @events: handler for events of ports and GIDs
 * @leaving: removal has begun, so a link group or link that is added now ends at once
 */
struct smc_rdma_device {
	struct list_head list;
	unsigned long serial;
	struct ib_device *ibdev;
	struct kref users;
	struct completion unused;
	struct ib_event_handler events;
	bool leaving;
};

/**
 * smc_rdma_device_get() - take a reference to a device
 * @dev: device, referenced or found in the list under RCU
 *
 * Context: any. The reference count can't be 0: the removal takes a device out of the list, and
 * drops the initial reference only after an RCU grace period.
 */
void smc_rdma_device_get(struct smc_rdma_device *dev);

/**
 * smc_rdma_device_put() - drop a reference to a device
 * @dev: device, whose removal waits for the last reference
 *
 * Context: any.
 */
void smc_rdma_device_put(struct smc_rdma_device *dev);

/*
 * All devices, in the order of their serial numbers. Readers use RCU, so that no connection waits
 * while a netlink dump walks the list. A reader must not sleep before it has a reference.
 */
extern struct list_head smc_rdma_devices;

int smc_rdma_device_init(void);
void smc_rdma_device_exit(void);

#endif
