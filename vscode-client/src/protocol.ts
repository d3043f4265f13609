/** ferrotile's own methods, as `docs/editor-protocol.md` describes them. */

export interface Place {
  readonly line: number;
  readonly character: number;
}

export interface Span {
  readonly start: Place;
  readonly end: Place;
}

/** A kernel of an open file. Results for another `state` are stale. */
export interface Kernel {
  readonly name: string;
  readonly range: Span;
  readonly translated: boolean;
  readonly state: string;
  readonly verdict: { readonly line: string; readonly failed: boolean; readonly holds: boolean } | null;
}

/** `ferrotile/kernels`, a notification. */
export interface KernelList {
  readonly uri: string;
  readonly version: number;
  readonly kernels: readonly Kernel[];
}

/** What `ferrotile/workspaceKernels` finds by parsing. */
export interface WorkspaceKernels {
  readonly files: readonly { readonly uri: string; readonly kernels: readonly Pick<Kernel, "name" | "range">[] }[];
  readonly complete: boolean;
}

export interface VerdictMessage {
  readonly message: string;
  readonly range: Span;
  readonly code: string | null;
  readonly expected?: string;
  readonly actual?: string;
}

export interface Rung {
  readonly rung: string;
  readonly status: "passed" | "failed" | "skipped" | "timeout" | "crashed";
  readonly detail: string;
  readonly ms: number;
}

export interface VerifiedKernel {
  readonly name: string;
  readonly verdict: string;
  readonly failed: boolean;
  readonly state: string;
  readonly messages: readonly VerdictMessage[];
  readonly rungs: readonly Rung[];
}

/** `ferrotile/verify`: its result, and its partial results. */
export interface Verified {
  readonly kernels: readonly VerifiedKernel[];
}

/** `ferrotile/lines`: rows of [first, last] of the Python and [first, last] of the preview, at this version of the Python. */
export interface Lines {
  readonly version: number;
  readonly lines: readonly (readonly [number, number, number, number])[];
}

export const LINES = "ferrotile/lines";
export const KERNELS = "ferrotile/kernels";
export const WORKSPACE_KERNELS = "ferrotile/workspaceKernels";
export const VERIFY = "ferrotile/verify";
export const PREVIEW_URI = "ferrotile/previewUri";
export const DEBUG_INFORMATION = "ferrotile/debugInformation";
