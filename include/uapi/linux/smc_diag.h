/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Watching AF_SMC sockets with sock_diag (linux/sock_diag.h): a request carries
 * struct smc_diag_req, each answer struct smc_diag_msg and, as attributes, the
 * extensions asked for that the socket has.
 */
#ifndef _UAPI_SMC_DIAG_H_
#define _UAPI_SMC_DIAG_H_

#include <linux/types.h>
#include <linux/inet_diag.h>
#include <rdma/ib_user_verbs.h>

struct smc_diag_req {
	__u8	diag_family;		/* AF_SMC */
	__u8	pad[2];
	__u8	diag_ext;		/* bit (n - 1) asks for extension n */
	struct inet_diag_sockid	id;
};

/* Addresses, ports and cookie are those of the TCP connection of the handshake. */
struct smc_diag_msg {
	__u8		diag_family;	/* AF_SMC */
	__u8		diag_state;
	union {
		__u8	diag_mode;	/* SMC_DIAG_MODE_* */
		__u8	diag_fallback;	/* its name in the past */
	};
	__u8		diag_shutdown;	/* 1: no more receiving, 2: no more sending */
	struct inet_diag_sockid id;

	__u32		diag_uid;
	__aligned_u64	diag_inode;
};

/* What carries a connection's data */
enum {
	SMC_DIAG_MODE_SMCR,
	SMC_DIAG_MODE_FALLBACK_TCP,
	SMC_DIAG_MODE_SMCD,
};

/* Extensions, with the type of the attribute */
enum {
	SMC_DIAG_NONE,
	SMC_DIAG_CONNINFO,		/* struct smc_diag_conninfo */
	SMC_DIAG_LGRINFO,		/* struct smc_diag_lgrinfo */
	SMC_DIAG_SHUTDOWN,		/* __u8, as diag_shutdown */
	SMC_DIAG_DMBINFO,		/* struct smcd_diag_dmbinfo */
	SMC_DIAG_FALLBACK,		/* struct smc_diag_fallback */
	__SMC_DIAG_MAX,
};

#define SMC_DIAG_MAX (__SMC_DIAG_MAX - 1)

/*
 * An attribute that the in-tree module does not have: struct smc_diag_rmbe. It comes with
 * SMC_DIAG_CONNINFO, for diag_ext has no bit for its type.
 */
#define SMC_DIAG_RMBE	128

/* A place in an element, and how often it has been wrapped around */
struct smc_diag_cursor {
	__u16	reserved;
	__u16	wrap;
	__u32	count;
};

struct smc_diag_conninfo {
	__u32			token;		/* alert token of this end */
	__u32			sndbuf_size;	/* bytes, as the following */
	__u32			rmbe_size;
	__u32			peer_rmbe_size;
	/* in our element, as the peer and we last said */
	struct smc_diag_cursor	rx_prod;
	struct smc_diag_cursor	rx_cons;
	/* in the peer's element */
	struct smc_diag_cursor	tx_prod;
	struct smc_diag_cursor	tx_cons;
	/* flags of the CDC messages last received and sent */
	__u8			rx_prod_flags;
	__u8			rx_conn_state_flags;
	__u8			tx_prod_flags;
	__u8			tx_conn_state_flags;
	/* in our send buffer: filled to here, sent to here, and known to have arrived */
	struct smc_diag_cursor	tx_prep;
	struct smc_diag_cursor	tx_sent;
	struct smc_diag_cursor	tx_fin;
};

struct smc_diag_linkinfo {
	__u8 link_id;
	__u8 ibname[IB_DEVICE_NAME_MAX];	/* NUL-terminated, as the GIDs */
	__u8 ibport;
	__u8 gid[40];
	__u8 peer_gid[40];
};

struct smc_diag_lgrinfo {
	struct smc_diag_linkinfo	lnk[1];
	__u8				role;	/* 0 client, 1 server */
};

/* What the ends of a connection told each other about their elements */
struct smc_diag_rmbe {
	/*
	 * alert token of the peer; ours is in smc_diag_conninfo. Of SMC-D's tokens these are
	 * the lower half: both are in smcd_diag_dmbinfo
	 */
	__u32 peer_token;
	__u8 index;		/* of our element in its RMB, from 1, or in its DMB, from 0 */
	__u8 peer_index;	/* of the peer's; 0 while not known, as peer_token */
	__u16 reserved;
};

/* Why a connection is TCP: diagnoses of CLC DECLINE messages */
struct smc_diag_fallback {
	__u32 reason;
	__u32 peer_diagnosis;
};

struct smcd_diag_dmbinfo {
	__u32		linkid;
	__aligned_u64	peer_gid;
	__aligned_u64	my_gid;
	__aligned_u64	token;		/* of our DMB */
	__aligned_u64	peer_token;	/* of the peer's */
	__aligned_u64	peer_gid_ext;	/* second halves of 128-bit GIDs */
	__aligned_u64	my_gid_ext;
};

#endif /* _UAPI_SMC_DIAG_H_ */
