/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events of multithreaded padata jobs: which thread got which chunk,
 * and where helpers were placed.  The events of one job share its number.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM padata

#if !defined(_TRACE_PADATA_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_PADATA_H

#include <linux/padata_mt.h>
#include <linux/tracepoint.h>

TRACE_EVENT(padata_mt_job_start,
	    TP_PROTO(unsigned int nr, const struct padata_mt_job *job, int threads),
	    TP_ARGS(nr, job, threads),
	    TP_STRUCT__entry(__field(unsigned int, nr)
			     __field(int, threads)
			     __field(unsigned long, start)
			     __field(unsigned long, size)
			     __field(unsigned long, align)
			     __field(unsigned long, min_chunk)),
	    TP_fast_assign(__entry->nr = nr;
			   __entry->threads = threads;
			   __entry->start = job->start;
			   __entry->size = job->size;
			   __entry->align = job->align;
			   __entry->min_chunk = job->min_chunk;),
	    TP_printk("job=%u start=%lu size=%lu align=%lu min_chunk=%lu threads=%d",
		      __entry->nr, __entry->start, __entry->size,
		      __entry->align, __entry->min_chunk, __entry->threads)
);

/* A helper was queued on @cpu. */
TRACE_EVENT(padata_mt_helper_start,
	    TP_PROTO(unsigned int nr, int cpu),
	    TP_ARGS(nr, cpu),
	    TP_STRUCT__entry(__field(unsigned int, nr)
			     __field(int, cpu)),
	    TP_fast_assign(__entry->nr = nr;
			   __entry->cpu = cpu;),
	    TP_printk("job=%u cpu=%d", __entry->nr, __entry->cpu)
);

/* The current thread is about to work on [@start, @end). */
TRACE_EVENT(padata_mt_chunk,
	    TP_PROTO(unsigned int nr, unsigned long start, unsigned long end),
	    TP_ARGS(nr, start, end),
	    TP_STRUCT__entry(__field(unsigned int, nr)
			     __field(unsigned long, start)
			     __field(unsigned long, end)),
	    TP_fast_assign(__entry->nr = nr;
			   __entry->start = start;
			   __entry->end = end;),
	    TP_printk("job=%u start=%lu end=%lu", __entry->nr, __entry->start, __entry->end)
);

/* A helper leaves after @ns of CPU time. */
TRACE_EVENT(padata_mt_helper_end,
	    TP_PROTO(unsigned int nr, u64 ns),
	    TP_ARGS(nr, ns),
	    TP_STRUCT__entry(__field(unsigned int, nr)
			     __field(u64, ns)),
	    TP_fast_assign(__entry->nr = nr;
			   __entry->ns = ns;),
	    TP_printk("job=%u ns=%llu", __entry->nr, __entry->ns)
);

/* The job is over.  At most @threads were put to work at a time. */
TRACE_EVENT(padata_mt_job_end,
	    TP_PROTO(unsigned int nr, int threads),
	    TP_ARGS(nr, threads),
	    TP_STRUCT__entry(__field(unsigned int, nr)
			     __field(int, threads)),
	    TP_fast_assign(__entry->nr = nr;
			   __entry->threads = threads;),
	    TP_printk("job=%u threads=%d", __entry->nr, __entry->threads)
);

#endif /* _TRACE_PADATA_H */

#include <trace/define_trace.h>
