/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Interfaces to configure and watch SMC: two generic netlink families and a socket
 * option. Sockets are shown by sock_diag, see linux/smc_diag.h. The comment after
 * each attribute names its type.
 */
#ifndef _UAPI_LINUX_SMC_H_
#define _UAPI_LINUX_SMC_H_

#define SMCR_GENL_FAMILY_NAME		"SMC_PNETID"
#define SMCR_GENL_FAMILY_VERSION	1

#define SMC_GENL_FAMILY_NAME		"SMC_GEN_NETLINK"
#define SMC_GENL_FAMILY_VERSION		1

/* Lengths of texts, and the maximum number of user EIDs of a host */
#define SMC_PCI_ID_STR_LEN		16
#define SMC_MAX_HOSTNAME_LEN		32
#define SMC_MAX_UEID			4
#define SMC_MAX_EID_LEN			32

/* Attributes of an entry of the PNET table (family SMC_PNETID) */
enum {
	SMC_PNETID_UNSPEC,
	SMC_PNETID_NAME,			/* string */
	SMC_PNETID_ETHNAME,			/* string */
	SMC_PNETID_IBNAME,			/* string */
	SMC_PNETID_IBPORT,			/* u8 */
	__SMC_PNETID_MAX,
	SMC_PNETID_MAX = __SMC_PNETID_MAX - 1,
};

/* Commands of the family SMC_PNETID */
enum {
	SMC_PNETID_GET = 1,
	SMC_PNETID_ADD,
	SMC_PNETID_DEL,
	SMC_PNETID_FLUSH,
};

/* Commands of the family SMC_GEN_NETLINK */
enum {
	SMC_NETLINK_GET_SYS_INFO = 1,
	SMC_NETLINK_GET_LGR_SMCR,
	SMC_NETLINK_GET_LINK_SMCR,
	SMC_NETLINK_GET_LGR_SMCD,
	SMC_NETLINK_GET_DEV_SMCD,
	SMC_NETLINK_GET_DEV_SMCR,
	SMC_NETLINK_GET_STATS,
	SMC_NETLINK_GET_FBACK_STATS,
	SMC_NETLINK_DUMP_UEID,
	SMC_NETLINK_ADD_UEID,
	SMC_NETLINK_REMOVE_UEID,
	SMC_NETLINK_FLUSH_UEID,
	SMC_NETLINK_DUMP_SEID,
	SMC_NETLINK_ENABLE_SEID,
	SMC_NETLINK_DISABLE_SEID,
	SMC_NETLINK_DUMP_HS_LIMITATION,
	SMC_NETLINK_ENABLE_HS_LIMITATION,
	SMC_NETLINK_DISABLE_HS_LIMITATION,
};

/* Commands that the in-tree module does not have, with numbers far above those of its commands */
enum {
	SMC_NETLINK_GET_BLACKHOLES = 128,
	SMC_NETLINK_FLUSH_BLACKHOLES,
};

/*
 * Top-level attributes of the dumps of SMC_GEN_NETLINK. Messages about EIDs and about
 * the handshake limitation have no such nest: their attributes are at the top level.
 */
enum {
	SMC_GEN_UNSPEC,
	SMC_GEN_SYS_INFO,			/* nest */
	SMC_GEN_LGR_SMCR,			/* nest */
	SMC_GEN_LINK_SMCR,			/* nest */
	SMC_GEN_LGR_SMCD,			/* nest */
	SMC_GEN_DEV_SMCD,			/* nest */
	SMC_GEN_DEV_SMCR,			/* nest */
	SMC_GEN_STATS,				/* nest */
	SMC_GEN_FBACK_STATS,			/* nest */
	__SMC_GEN_MAX,
	SMC_GEN_MAX = __SMC_GEN_MAX - 1,
};

/* Top-level attribute of the dump that the in-tree module does not have */
enum {
	SMC_GEN_BLACKHOLE = 128,		/* nest */
};

/* In SMC_GEN_SYS_INFO */
enum {
	SMC_NLA_SYS_UNSPEC,
	SMC_NLA_SYS_VER,			/* u8 */
	SMC_NLA_SYS_REL,			/* u8 */
	SMC_NLA_SYS_IS_ISM_V2,			/* u8 */
	SMC_NLA_SYS_LOCAL_HOST,			/* string */
	SMC_NLA_SYS_SEID,			/* string */
	SMC_NLA_SYS_IS_SMCR_V2,			/* u8 */
	__SMC_NLA_SYS_MAX,
	SMC_NLA_SYS_MAX = __SMC_NLA_SYS_MAX - 1,
};

/* In SMC_NLA_LGR_R_V2_COMMON and SMC_NLA_LGR_D_V2_COMMON */
enum {
	SMC_NLA_LGR_V2_VER,			/* u8 */
	SMC_NLA_LGR_V2_REL,			/* u8 */
	SMC_NLA_LGR_V2_OS,			/* u8 */
	SMC_NLA_LGR_V2_NEG_EID,			/* string */
	SMC_NLA_LGR_V2_PEER_HOST,		/* string */
	__SMC_NLA_LGR_V2_MAX,
	SMC_NLA_LGR_V2_MAX = __SMC_NLA_LGR_V2_MAX - 1,
};

/* In SMC_NLA_LGR_R_V2 */
enum {
	SMC_NLA_LGR_R_V2_UNSPEC,
	SMC_NLA_LGR_R_V2_DIRECT,		/* u8 */
	SMC_NLA_LGR_R_V2_MAX_CONNS,		/* u8 */
	SMC_NLA_LGR_R_V2_MAX_LINKS,		/* u8 */
	__SMC_NLA_LGR_R_V2_MAX,
	SMC_NLA_LGR_R_V2_MAX = __SMC_NLA_LGR_R_V2_MAX - 1,
};

/* In SMC_GEN_LGR_SMCR */
enum {
	SMC_NLA_LGR_R_UNSPEC,
	SMC_NLA_LGR_R_ID,			/* u32 */
	SMC_NLA_LGR_R_ROLE,			/* u8 */
	SMC_NLA_LGR_R_TYPE,			/* u8 */
	SMC_NLA_LGR_R_PNETID,			/* string */
	SMC_NLA_LGR_R_VLAN_ID,			/* u8 */
	SMC_NLA_LGR_R_CONNS_NUM,		/* u32 */
	SMC_NLA_LGR_R_V2_COMMON,		/* nest */
	SMC_NLA_LGR_R_V2,			/* nest */
	SMC_NLA_LGR_R_NET_COOKIE,		/* u64 */
	SMC_NLA_LGR_R_PAD,			/* flag */
	SMC_NLA_LGR_R_BUF_TYPE,			/* u8 */
	SMC_NLA_LGR_R_SNDBUF_ALLOC,		/* uint */
	SMC_NLA_LGR_R_RMB_ALLOC,		/* uint */
	__SMC_NLA_LGR_R_MAX,
	SMC_NLA_LGR_R_MAX = __SMC_NLA_LGR_R_MAX - 1,
};

/* In SMC_GEN_LGR_SMCR; the in-tree module lacks these attributes */
enum {
	SMC_NLA_LGR_R_VLAN = 128,		/* u16: the ID; VLAN_ID is its lower eight bits */
	SMC_NLA_LGR_R_LOST_LINK,		/* u8: ID of the link lost last, if any was */
	SMC_NLA_LGR_R_LOST_AGE,			/* u32: seconds since then */
	SMC_NLA_LGR_R_LOST_REASON,		/* string, as in the kernel log */
};

/* In SMC_GEN_LINK_SMCR */
enum {
	SMC_NLA_LINK_UNSPEC,
	SMC_NLA_LINK_ID,			/* u8 */
	SMC_NLA_LINK_IB_DEV,			/* string */
	SMC_NLA_LINK_IB_PORT,			/* u8 */
	SMC_NLA_LINK_GID,			/* string */
	SMC_NLA_LINK_PEER_GID,			/* string */
	SMC_NLA_LINK_CONN_CNT,			/* u32 */
	SMC_NLA_LINK_NET_DEV,			/* u32 */
	SMC_NLA_LINK_UID,			/* u32 */
	SMC_NLA_LINK_PEER_UID,			/* u32 */
	SMC_NLA_LINK_STATE,			/* u32 */
	__SMC_NLA_LINK_MAX,
	SMC_NLA_LINK_MAX = __SMC_NLA_LINK_MAX - 1,
};

/* In SMC_GEN_LINK_SMCR; the in-tree module does not have it */
enum {
	SMC_NLA_LINK_STATE_AGE = 128,		/* u32: seconds since the link came to STATE */
};

/* In SMC_GEN_LGR_SMCD */
enum {
	SMC_NLA_LGR_D_UNSPEC,
	SMC_NLA_LGR_D_ID,			/* u32 */
	SMC_NLA_LGR_D_GID,			/* u64 */
	SMC_NLA_LGR_D_PEER_GID,			/* u64 */
	SMC_NLA_LGR_D_VLAN_ID,			/* u8 */
	SMC_NLA_LGR_D_CONNS_NUM,		/* u32 */
	SMC_NLA_LGR_D_PNETID,			/* string */
	SMC_NLA_LGR_D_CHID,			/* u16 */
	SMC_NLA_LGR_D_PAD,			/* flag */
	SMC_NLA_LGR_D_V2_COMMON,		/* nest */
	SMC_NLA_LGR_D_EXT_GID,			/* u64 */
	SMC_NLA_LGR_D_PEER_EXT_GID,		/* u64 */
	SMC_NLA_LGR_D_SNDBUF_ALLOC,		/* uint */
	SMC_NLA_LGR_D_DMB_ALLOC,		/* uint */
	__SMC_NLA_LGR_D_MAX,
	SMC_NLA_LGR_D_MAX = __SMC_NLA_LGR_D_MAX - 1,
};

/* In SMC_NLA_DEV_PORT and SMC_NLA_DEV_PORT2 */
enum {
	SMC_NLA_DEV_PORT_UNSPEC,
	SMC_NLA_DEV_PORT_PNET_USR,		/* u8 */
	SMC_NLA_DEV_PORT_PNETID,		/* string */
	SMC_NLA_DEV_PORT_NETDEV,		/* u32 */
	SMC_NLA_DEV_PORT_STATE,			/* u8 */
	SMC_NLA_DEV_PORT_VALID,			/* u8 */
	SMC_NLA_DEV_PORT_LNK_CNT,		/* u32 */
	__SMC_NLA_DEV_PORT_MAX,
	SMC_NLA_DEV_PORT_MAX = __SMC_NLA_DEV_PORT_MAX - 1,
};

/* In SMC_GEN_DEV_SMCR and SMC_GEN_DEV_SMCD */
enum {
	SMC_NLA_DEV_UNSPEC,
	SMC_NLA_DEV_USE_CNT,			/* u32 */
	SMC_NLA_DEV_IS_CRIT,			/* u8 */
	SMC_NLA_DEV_PCI_FID,			/* u32 */
	SMC_NLA_DEV_PCI_CHID,			/* u16 */
	SMC_NLA_DEV_PCI_VENDOR,			/* u16 */
	SMC_NLA_DEV_PCI_DEVICE,			/* u16 */
	SMC_NLA_DEV_PCI_ID,			/* string */
	SMC_NLA_DEV_PORT,			/* nest */
	SMC_NLA_DEV_PORT2,			/* nest */
	SMC_NLA_DEV_IB_NAME,			/* string */
	__SMC_NLA_DEV_MAX,
	SMC_NLA_DEV_MAX = __SMC_NLA_DEV_MAX - 1,
};

/*
 * In SMC_NLA_STATS_T_{T,R}X_RMB_SIZE and SMC_NLA_STATS_T_{T,R}XPLOAD_SIZE: the number of
 * buffers, or of calls, with at most this size and more than the size before.
 */
enum {
	SMC_NLA_STATS_PLOAD_PAD,
	SMC_NLA_STATS_PLOAD_8K,			/* u64 */
	SMC_NLA_STATS_PLOAD_16K,		/* u64 */
	SMC_NLA_STATS_PLOAD_32K,		/* u64 */
	SMC_NLA_STATS_PLOAD_64K,		/* u64 */
	SMC_NLA_STATS_PLOAD_128K,		/* u64 */
	SMC_NLA_STATS_PLOAD_256K,		/* u64 */
	SMC_NLA_STATS_PLOAD_512K,		/* u64 */
	SMC_NLA_STATS_PLOAD_1024K,		/* u64 */
	SMC_NLA_STATS_PLOAD_G_1024K,		/* u64 */
	__SMC_NLA_STATS_PLOAD_MAX,
	SMC_NLA_STATS_PLOAD_MAX = __SMC_NLA_STATS_PLOAD_MAX - 1,
};

/* In SMC_NLA_STATS_T_{T,R}X_RMB_STATS */
enum {
	SMC_NLA_STATS_RMB_PAD,
	SMC_NLA_STATS_RMB_SIZE_SM_PEER_CNT,	/* u64 */
	SMC_NLA_STATS_RMB_SIZE_SM_CNT,		/* u64 */
	SMC_NLA_STATS_RMB_FULL_PEER_CNT,	/* u64 */
	SMC_NLA_STATS_RMB_FULL_CNT,		/* u64 */
	SMC_NLA_STATS_RMB_REUSE_CNT,		/* u64 */
	SMC_NLA_STATS_RMB_ALLOC_CNT,		/* u64 */
	SMC_NLA_STATS_RMB_DGRADE_CNT,		/* u64 */
	__SMC_NLA_STATS_RMB_MAX,
	SMC_NLA_STATS_RMB_MAX = __SMC_NLA_STATS_RMB_MAX - 1,
};

/* In SMC_NLA_STATS_SMCD_TECH and SMC_NLA_STATS_SMCR_TECH */
enum {
	SMC_NLA_STATS_T_PAD,
	SMC_NLA_STATS_T_TX_RMB_SIZE,		/* nest */
	SMC_NLA_STATS_T_RX_RMB_SIZE,		/* nest */
	SMC_NLA_STATS_T_TXPLOAD_SIZE,		/* nest */
	SMC_NLA_STATS_T_RXPLOAD_SIZE,		/* nest */
	SMC_NLA_STATS_T_TX_RMB_STATS,		/* nest */
	SMC_NLA_STATS_T_RX_RMB_STATS,		/* nest */
	SMC_NLA_STATS_T_CLNT_V1_SUCC,		/* u64 */
	SMC_NLA_STATS_T_CLNT_V2_SUCC,		/* u64 */
	SMC_NLA_STATS_T_SRV_V1_SUCC,		/* u64 */
	SMC_NLA_STATS_T_SRV_V2_SUCC,		/* u64 */
	SMC_NLA_STATS_T_SENDPAGE_CNT,		/* u64 */
	SMC_NLA_STATS_T_SPLICE_CNT,		/* u64 */
	SMC_NLA_STATS_T_CORK_CNT,		/* u64 */
	SMC_NLA_STATS_T_NDLY_CNT,		/* u64 */
	SMC_NLA_STATS_T_URG_DATA_CNT,		/* u64 */
	SMC_NLA_STATS_T_RX_BYTES,		/* u64 */
	SMC_NLA_STATS_T_TX_BYTES,		/* u64 */
	SMC_NLA_STATS_T_RX_CNT,			/* u64 */
	SMC_NLA_STATS_T_TX_CNT,			/* u64 */
	SMC_NLA_STATS_T_RX_RMB_USAGE,		/* uint */
	SMC_NLA_STATS_T_TX_RMB_USAGE,		/* uint */
	__SMC_NLA_STATS_T_MAX,
	SMC_NLA_STATS_T_MAX = __SMC_NLA_STATS_T_MAX - 1,
};

/* In SMC_GEN_STATS */
enum {
	SMC_NLA_STATS_PAD,
	SMC_NLA_STATS_SMCD_TECH,		/* nest */
	SMC_NLA_STATS_SMCR_TECH,		/* nest */
	SMC_NLA_STATS_CLNT_HS_ERR_CNT,		/* u64 */
	SMC_NLA_STATS_SRV_HS_ERR_CNT,		/* u64 */
	__SMC_NLA_STATS_MAX,
	SMC_NLA_STATS_MAX = __SMC_NLA_STATS_MAX - 1,
};

/* In SMC_GEN_STATS; the in-tree module does not have it */
enum {
	SMC_NLA_STATS_LINKS = 128,		/* nest */
};

/* In SMC_NLA_STATS_LINKS: what became of the links of SMC-R */
enum {
	SMC_NLA_STATS_L_PAD,
	SMC_NLA_STATS_L_GROUPS_LOST,		/* u64: groups that had connections */
	SMC_NLA_STATS_L_ADDED,			/* u64: links of groups that had a link */
	SMC_NLA_STATS_L_LOST,			/* u64: links of groups that kept a link */
	SMC_NLA_STATS_L_CONNS_MOVED,		/* u64: connections that left an ended link */
	SMC_NLA_STATS_L_STALLED,		/* u64: links whose peer took no message */
	SMC_NLA_STATS_L_REPEATED_WRITES,	/* u64: RDMA WRITEs repeated on another link */
	SMC_NLA_STATS_L_REPEATED_BYTES,		/* u64: bytes repeated on another link */
	__SMC_NLA_STATS_L_MAX,
	SMC_NLA_STATS_L_MAX = __SMC_NLA_STATS_L_MAX - 1,
};

/* In SMC_GEN_FBACK_STATS, one message for each reason and role */
enum {
	SMC_NLA_FBACK_STATS_PAD,
	SMC_NLA_FBACK_STATS_TYPE,		/* u8 */
	SMC_NLA_FBACK_STATS_SRV_CNT,		/* u64 */
	SMC_NLA_FBACK_STATS_CLNT_CNT,		/* u64 */
	SMC_NLA_FBACK_STATS_RSN_CODE,		/* u32 */
	SMC_NLA_FBACK_STATS_RSN_CNT,		/* u16 */
	__SMC_NLA_FBACK_STATS_MAX,
	SMC_NLA_FBACK_STATS_MAX = __SMC_NLA_FBACK_STATS_MAX - 1,
};

/* In messages about user EIDs */
enum {
	SMC_NLA_EID_TABLE_UNSPEC,
	SMC_NLA_EID_TABLE_ENTRY,		/* string */
	__SMC_NLA_EID_TABLE_MAX,
	SMC_NLA_EID_TABLE_MAX = __SMC_NLA_EID_TABLE_MAX - 1,
};

/* In messages about the system EID */
enum {
	SMC_NLA_SEID_UNSPEC,
	SMC_NLA_SEID_ENTRY,			/* string */
	SMC_NLA_SEID_ENABLED,			/* u8 */
	__SMC_NLA_SEID_TABLE_MAX,
	SMC_NLA_SEID_TABLE_MAX = __SMC_NLA_SEID_TABLE_MAX - 1,
};

/* In messages about the handshake limitation */
enum {
	SMC_NLA_HS_LIMITATION_UNSPEC,
	SMC_NLA_HS_LIMITATION_ENABLED,		/* u8 */
	__SMC_NLA_HS_LIMITATION_MAX,
	SMC_NLA_HS_LIMITATION_MAX = __SMC_NLA_HS_LIMITATION_MAX - 1,
};

/* In SMC_GEN_BLACKHOLE: a peer with which SMC has failed, and is not used for a while */
enum {
	SMC_NLA_BLACKHOLE_UNSPEC,
	SMC_NLA_BLACKHOLE_EVENT,		/* u8: SMC_BLACKHOLE_SYN_LOST... */
	SMC_NLA_BLACKHOLE_ADDR,			/* string: the peer's address */
	SMC_NLA_BLACKHOLE_PORT,			/* u16: the server's; for a client, this end's */
	SMC_NLA_BLACKHOLE_GID,			/* string: of an RDMA port, in place of PORT */
	SMC_NLA_BLACKHOLE_AGE,			/* u32: seconds since the event */
	SMC_NLA_BLACKHOLE_LEFT,			/* u32: seconds until the entry expires */
	SMC_NLA_BLACKHOLE_UID,			/* u32: for a server, the user without SMC */
	__SMC_NLA_BLACKHOLE_MAX,
	SMC_NLA_BLACKHOLE_MAX = __SMC_NLA_BLACKHOLE_MAX - 1,
};

/* SMC_NLA_BLACKHOLE_EVENT */
enum {
	SMC_BLACKHOLE_SYN_LOST = 1,		/* a server answered only SYNs without the option */
	SMC_BLACKHOLE_NO_ANSWER,		/* a server did not answer a PROPOSAL */
	SMC_BLACKHOLE_NO_PROPOSAL,		/* a client offered SMC, but sent no PROPOSAL */
	SMC_BLACKHOLE_NO_LINK,			/* no link to an RDMA port could be confirmed */
};

/* Socket option at level SOL_SMC, int: prefer TCP when many handshakes are under way */
#define SMC_LIMIT_HS 1

#endif /* _UAPI_LINUX_SMC_H_ */
