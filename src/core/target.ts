/** The path and query that a client asked for, and each way in which an upstream may read the path. */
export interface Target {
  /** The path as received, cut at the first `?` or `#`. */
  readonly rawPath: string;
  /** Without the `?`; empty when there is none. */
  readonly query: string;
  /** Distinct readings of the path (contract 4, Paths). The first one is canonical: `request.path`. */
  readonly readings: readonly [string, ...string[]];
}

/** Why a target is not judged but refused: a path that cannot be read (400) or is over 8 KiB (414). */
export interface MalformedTarget {
  readonly kind: "malformed";
  readonly status: 400 | 414;
  readonly reason: "malformed_path" | "path_too_long";
  /** What came, for the record; not cut, not cleaned. */
  readonly rawPath: string;
  readonly query: string;
}

export type TargetResult = { readonly kind: "target"; readonly target: Target } | MalformedTarget;
