// SPDX-License-Identifier: GPL-2.0
/*
 * For tests only: makes an RDMA device, which soft-RoCE has made of nothing, one of a PCI function,
 * as those of adapters are, while this module is loaded.
 *
 * insmod rdma_parent.ko ibdev=rxe0 pci=0000:00:05.0
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <rdma/ib_verbs.h>

static char *ibdev = "";
module_param(ibdev, charp, 0400);
MODULE_PARM_DESC(ibdev, "the RDMA device");

static char *pci = "";
module_param(pci, charp, 0400);
MODULE_PARM_DESC(pci, "the PCI function");

static struct ib_device *child;
static struct device *parent;

static int __init rdma_parent_init(void)
{
	child = ib_device_get_by_name(ibdev, RDMA_DRIVER_UNKNOWN);
	if (!child)
		return -ENODEV;
	parent = bus_find_device_by_name(&pci_bus_type, NULL, pci);
	if (!parent || child->dev.parent) {
		put_device(parent);
		ib_device_put(child);
		return parent ? -EBUSY : -ENODEV;
	}
	WRITE_ONCE(child->dev.parent, parent);
	return 0;
}

static void __exit rdma_parent_exit(void)
{
	/* The driver core has not seen it, and is not to put it. */
	WRITE_ONCE(child->dev.parent, NULL);
	put_device(parent);
	ib_device_put(child);
}

module_init(rdma_parent_init);
module_exit(rdma_parent_exit);

MODULE_DESCRIPTION("Test aid: a PCI function for an RDMA device");
MODULE_LICENSE("GPL");
