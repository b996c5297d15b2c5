//! CUDA graphs, which `cust` cannot replay in a stream of the caller's.

use std::ptr;

use cust::stream::Stream;
use cust::sys::{
    CUgraph, CUgraphExec, CUresult, CUstreamCaptureMode, cuGraphDestroy, cuGraphExecDestroy,
    cuGraphInstantiateWithFlags, cuGraphLaunch, cuStreamBeginCapture_v2, cuStreamEndCapture,
};

/// A graph of what was launched in a stream.
pub(crate) struct Graph {
    graph: CUgraph,
    executable: CUgraphExec,
}

fn check(code: CUresult) {
    assert_eq!(code, CUresult::CUDA_SUCCESS);
}

impl Graph {
    pub(crate) fn of(stream: &Stream, launches: impl FnOnce()) -> Self {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream is live and captures nothing yet.
        check(unsafe { cuStreamBeginCapture_v2(stream.as_inner(), mode) });
        launches();
        // SAFETY: the stream captures; the pointer is to a live variable.
        check(unsafe { cuStreamEndCapture(stream.as_inner(), &raw mut graph) });
        // SAFETY: the graph is live; the pointer is to a live variable.
        check(unsafe { cuGraphInstantiateWithFlags(&raw mut executable, graph, 0) });
        Self { graph, executable }
    }

    pub(crate) fn launch(&self, stream: &Stream) {
        // SAFETY: graph and stream are live; what the graph's kernels were launched with is too, as
        // the test keeps it until it has waited for the stream.
        check(unsafe { cuGraphLaunch(self.executable, stream.as_inner()) });
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made in `of`, and destroyed only here.
        unsafe {
            cuGraphExecDestroy(self.executable);
            cuGraphDestroy(self.graph);
        }
    }
}
