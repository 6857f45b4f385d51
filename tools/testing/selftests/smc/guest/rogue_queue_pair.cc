// SPDX-License-Identifier: GPL-2.0
#include "rogue_queue_pair.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "system.h"

namespace guest
{

static void must_be(bool good, const std::string &what)
{
	if (!good)
		throw_errno(what);
}

RogueQueuePair::RogueQueuePair(const std::string &gid) : memory(element_bytes + (slots + 1) * slot)
{
	open_device(gid);
	make_queue_pair();
}

RogueQueuePair::~RogueQueuePair()
{
	if (qp)
		ibv_destroy_qp(qp);
	for (ibv_mr *other : others)
		ibv_dereg_mr(other);
	if (mr)
		ibv_dereg_mr(mr);
	if (send_cq)
		ibv_destroy_cq(send_cq);
	if (receive_cq)
		ibv_destroy_cq(receive_cq);
	if (pd)
		ibv_dealloc_pd(pd);
	if (context)
		ibv_close_device(context);
}

void RogueQueuePair::open_device(const std::string &own)
{
	ibv_device **devices = ibv_get_device_list(nullptr);
	ibv_port_attr port;

	must_be(devices && devices[0], "no RDMA device");
	context = ibv_open_device(devices[0]);
	ibv_free_device_list(devices);
	must_be(context && !ibv_query_port(context, 1, &port), "RDMA device");
	for (int i = 0; i < port.gid_tbl_len; i++) {
		ibv_gid gid;

		if (!ibv_query_gid(context, 1, i, &gid) &&
		    !memcmp(gid.raw, own.data(), sizeof(gid.raw)))
			gid_index = i;
	}
	must_be(gid_index >= 0, "no GID of this guest's address");
}

void RogueQueuePair::make_queue_pair()
{
	pd = ibv_alloc_pd(context);
	send_cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
	receive_cq = ibv_create_cq(context, 2 * slots, nullptr, nullptr, 0);
	must_be(pd && send_cq && receive_cq, "PD or CQ");
	mr = ibv_reg_mr(pd, memory.data(), memory.size(),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must_be(mr, "MR");

	ibv_qp_init_attr init = {};

	init.send_cq = send_cq;
	init.recv_cq = receive_cq;
	init.cap = {.max_send_wr = 32, .max_recv_wr = slots, .max_send_sge = 1, .max_recv_sge = 1};
	init.qp_type = IBV_QPT_RC;
	init.sq_sig_all = 1;
	qp = ibv_create_qp(pd, &init);
	must_be(qp, "QP");
	begin();
}

void RogueQueuePair::begin_anew()
{
	ibv_qp_attr attr = {};
	ibv_wc wc;

	attr.qp_state = IBV_QPS_RESET;
	must_be(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "QP to RESET");
	while (ibv_poll_cq(receive_cq, 1, &wc) > 0)
		;
	missing.clear();
	begin();
}

void RogueQueuePair::begin()
{
	ibv_qp_attr attr = {};

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	must_be(
	    !ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	    "QP to INIT");
	for (size_t i = 0; i < slots; i++)
		post_receive(i);
}

uint32_t RogueQueuePair::another_rkey()
{
	ibv_mr *other = ibv_reg_mr(pd, memory.data(), element_bytes,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	must_be(other, "MR");
	others.push_back(other);
	return other->rkey;
}

void RogueQueuePair::connect(const FarEnd &far, uint32_t own_psn)
{
	ibv_qp_attr attr = {};

	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = ibv_mtu(far.mtu);
	attr.dest_qp_num = far.qpn;
	attr.rq_psn = far.psn;
	attr.max_dest_rd_atomic = 1;
	/* 20 ms: a short time would keep both ends busy. */
	attr.min_rnr_timer = 22;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.sgid_index = gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	memcpy(attr.ah_attr.grh.dgid.raw, far.gid.data(), sizeof(attr.ah_attr.grh.dgid.raw));
	must_be(!ibv_modify_qp(qp, &attr,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER),
		"QP to RTR");

	attr = {};
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 15;
	/* 7 means no limit for soft-RoCE, but the other end's disappearance must be detected. */
	attr.retry_cnt = 6;
	attr.rnr_retry = 7;
	attr.sq_psn = own_psn;
	attr.max_rd_atomic = 1;
	must_be(!ibv_modify_qp(qp, &attr,
			       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
		"QP to RTS");
}

void RogueQueuePair::post_receive(size_t i)
{
	ibv_sge sge = {reinterpret_cast<uint64_t>(memory.data()) + element_bytes + i * slot, slot,
		       mr->lkey};
	ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	must_be(!ibv_post_recv(qp, &wr, &bad), "post receive");
}

std::optional<ibv_wc> RogueQueuePair::poll(ibv_cq *cq, int seconds)
{
	ibv_wc wc;

	/* No completion channel, as there is nothing else to do meanwhile. */
	try {
		wait_until(
		    "a completion", [&] { return ibv_poll_cq(cq, 1, &wc) > 0; }, seconds);
	} catch (const std::runtime_error &) {
		return {};
	}
	return wc;
}

ibv_wc_status RogueQueuePair::post_and_wait(ibv_send_wr &wr)
{
	ibv_send_wr *bad;

	if (ibv_post_send(qp, &wr, &bad))
		return IBV_WC_GENERAL_ERR;

	std::optional<ibv_wc> wc = poll(send_cq, 60);

	if (!wc)
		throw std::runtime_error("a send does not complete");
	return wc->status;
}

bool RogueQueuePair::post_send(ibv_send_wr &wr, const std::string &bytes)
{
	char *at = memory.data() + element_bytes + slots * slot;
	ibv_sge sge = {reinterpret_cast<uint64_t>(at), uint32_t(bytes.size()), mr->lkey};

	memcpy(at, bytes.data(), bytes.size());
	wr.sg_list = &sge;
	wr.num_sge = bytes.empty() ? 0 : 1;
	return post_and_wait(wr) == IBV_WC_SUCCESS;
}

bool RogueQueuePair::say(const std::string &bytes)
{
	ibv_send_wr wr = {};

	wr.opcode = IBV_WR_SEND;
	return post_send(wr, bytes);
}

bool RogueQueuePair::say_and_invalidate(const std::string &bytes, uint32_t rkey)
{
	ibv_send_wr wr = {};

	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = rkey;
	return post_send(wr, bytes);
}

ibv_wc_status RogueQueuePair::post_write(ibv_wr_opcode opcode, uint64_t address, uint32_t rkey,
					 const char *from, size_t len)
{
	ibv_sge sge = {reinterpret_cast<uint64_t>(from), uint32_t(len), mr->lkey};
	ibv_send_wr wr = {};

	wr.sg_list = &sge;
	wr.num_sge = len ? 1 : 0;
	wr.opcode = opcode;
	wr.wr.rdma.remote_addr = address;
	wr.wr.rdma.rkey = rkey;
	return post_and_wait(wr);
}

ibv_wc_status RogueQueuePair::write_to(uint64_t address, uint32_t rkey, const std::string &bytes)
{
	char *at = memory.data() + element_bytes + slots * slot;

	memcpy(at, bytes.data(), bytes.size());
	return post_write(IBV_WR_RDMA_WRITE, address, rkey, at, bytes.size());
}

ibv_wc_status RogueQueuePair::write_with_immediate_to(uint64_t address, uint32_t rkey,
						      uint32_t bytes)
{
	return post_write(IBV_WR_RDMA_WRITE_WITH_IMM, address, rkey, memory.data(), bytes);
}

bool RogueQueuePair::post_one()
{
	if (missing.empty())
		return false;
	post_receive(missing.front());
	missing.pop_front();
	return true;
}

void RogueQueuePair::destroy_queue_pair()
{
	must_be(!ibv_destroy_qp(qp), "destroy QP");
	qp = nullptr;
}

std::string RogueQueuePair::hear(int seconds)
{
	std::optional<ibv_wc> wc = poll(receive_cq, seconds);

	if (!wc || wc->status != IBV_WC_SUCCESS)
		return "";

	std::string message(memory.data() + element_bytes + wc->wr_id * slot, wc->byte_len);

	missing.push_back(wc->wr_id);
	if (may_post)
		post_one();
	return message;
}

std::string RogueQueuePair::hear_type(uint8_t type, int seconds)
{
	std::string message;

	do {
		message = hear(seconds);
	} while (!message.empty() && uint8_t(message[0]) != type);
	return message;
}

} // namespace guest
