// SPDX-License-Identifier: GPL-2.0
/*
 * For tests only: while this module is loaded, each address that is given to the network device of
 * some soft-RoCE devices gets a GID of RoCE v1, as with adapters, beside the one of RoCE v2. SMC-R
 * of version 1 wants them. soft-RoCE can't send by them, so its queue pairs take each for the one of
 * RoCE v2 that is the same address.
 *
 * insmod roce_v1.ko ibdev=rxe0,rxe1, ip addr add, ..., ip addr del, rmmod roce_v1
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#define MAX_DEVICES	2

static char *ibdev[MAX_DEVICES];
static int n_devices;
module_param_array(ibdev, charp, &n_devices, 0400);
MODULE_PARM_DESC(ibdev, "the RDMA devices");

static struct ib_device *devices[MAX_DEVICES];
static int (*modify_qp)(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			struct ib_udata *udata);

static int roce_v1_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			     struct ib_udata *udata)
{
	const struct ib_gid_attr *given = attr->ah_attr.grh.sgid_attr;
	struct ib_gid_attr as_v2;
	int rc;

	if (!(mask & IB_QP_AV) || given->gid_type != IB_GID_TYPE_ROCE)
		return modify_qp(qp, attr, mask, udata);
	as_v2 = *given;
	as_v2.gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	attr->ah_attr.grh.sgid_attr = &as_v2;
	rc = modify_qp(qp, attr, mask, udata);
	attr->ah_attr.grh.sgid_attr = given;
	return rc;
}

static void put_devices(int n)
{
	while (n--) {
		devices[n]->port_data[1].immutable.core_cap_flags &= ~RDMA_CORE_CAP_PROT_ROCE;
		WRITE_ONCE(devices[n]->ops.modify_qp, modify_qp);
		ib_device_put(devices[n]);
	}
}

static int __init roce_v1_init(void)
{
	int i;

	for (i = 0; i < n_devices; i++) {
		devices[i] = ib_device_get_by_name(ibdev[i], RDMA_DRIVER_RXE);
		if (!devices[i]) {
			put_devices(i);
			return -ENODEV;
		}
		modify_qp = devices[i]->ops.modify_qp;
		WRITE_ONCE(devices[i]->ops.modify_qp, roce_v1_modify_qp);
		devices[i]->port_data[1].immutable.core_cap_flags |= RDMA_CORE_CAP_PROT_ROCE;
	}
	return 0;
}

static void __exit roce_v1_exit(void)
{
	put_devices(n_devices);
}

module_init(roce_v1_init);
module_exit(roce_v1_exit);

MODULE_DESCRIPTION("Test aid: RoCE v1 GIDs for soft-RoCE");
MODULE_LICENSE("GPL");
