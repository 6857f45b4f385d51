/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * AF_SMC sockets in sock_diag (linux/sock_diag.h). A request carries struct
 * smc_diag_req. Each answer carries struct smc_diag_msg and, as attributes, the
 * requested extensions, except those that the socket does not have.
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
		__u8	diag_fallback;	/* former name of diag_mode */
	};
	__u8		diag_shutdown;	/* 1: no more receiving, 2: no more sending */
	struct inet_diag_sockid id;

	__u32		diag_uid;
	__aligned_u64	diag_inode;
};

/* Values of diag_mode: the protocol that carries a connection's data */
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
 * An attribute that the in-tree module does not have: struct smc_diag_rmbe. A request for
 * SMC_DIAG_CONNINFO also requests this attribute, because diag_ext has no bit for it.
 */
#define SMC_DIAG_RMBE	128

/* A cursor: an offset (count) in an element, and the number of times that it has wrapped */
struct smc_diag_cursor {
	__u16	reserved;
	__u16	wrap;
	__u32	count;
};

struct smc_diag_conninfo {
	__u32			token;		/* alert token of this end */
	__u32			sndbuf_size;	/* bytes */
	__u32			rmbe_size;	/* bytes */
	__u32			peer_rmbe_size;	/* bytes */
	/* cursors in this end's element: the peer's producer cursor, this end's consumer cursor */
	struct smc_diag_cursor	rx_prod;
	struct smc_diag_cursor	rx_cons;
	/* cursors in the peer's element: this end's producer cursor, the peer's consumer cursor */
	struct smc_diag_cursor	tx_prod;
	struct smc_diag_cursor	tx_cons;
	/* flags of the CDC messages last received and sent */
	__u8			rx_prod_flags;
	__u8			rx_conn_state_flags;
	__u8			tx_prod_flags;
	__u8			tx_conn_state_flags;
	/* ends of the bytes in the send buffer: of all, of the sent ones, of the arrived ones */
	struct smc_diag_cursor	tx_prep;
	struct smc_diag_cursor	tx_sent;
	struct smc_diag_cursor	tx_fin;
};

struct smc_diag_linkinfo {
	__u8 link_id;
	__u8 ibname[IB_DEVICE_NAME_MAX];	/* NUL-terminated, as are gid and peer_gid */
	__u8 ibport;
	__u8 gid[40];
	__u8 peer_gid[40];
};

struct smc_diag_lgrinfo {
	struct smc_diag_linkinfo	lnk[1];
	__u8				role;	/* 0 client, 1 server */
};

/* Elements of both ends of a connection, as the ends told each other */
struct smc_diag_rmbe {
	/*
	 * alert token of the peer; that of this end is in smc_diag_conninfo. With SMC-D both are
	 * the lower halves of the DMB tokens in smcd_diag_dmbinfo
	 */
	__u32 peer_token;
	__u8 index;		/* of this end's element: in its RMB from 1, in its DMB from 0 */
	__u8 peer_index;	/* of the peer's element; 0, like peer_token, until it is known */
	__u16 reserved;
};

/* Reasons for which a connection fell back to TCP: diagnosis codes of a DECLINE */
struct smc_diag_fallback {
	__u32 reason;
	__u32 peer_diagnosis;
};

struct smcd_diag_dmbinfo {
	__u32		linkid;
	__aligned_u64	peer_gid;
	__aligned_u64	my_gid;
	__aligned_u64	token;		/* of this end's DMB */
	__aligned_u64	peer_token;	/* of the peer's DMB */
	__aligned_u64	peer_gid_ext;	/* second halves of 128-bit GIDs */
	__aligned_u64	my_gid_ext;
};

#endif /* _UAPI_SMC_DIAG_H_ */
