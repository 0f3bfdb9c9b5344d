/** Something wrong in a file of the operator's, with its place and what would be right. */
export interface Fault {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
  /** As a person would write it: `rules[2].action.status`; empty for the document itself. */
  readonly path: string;
  /** No capital, no full stop, the operator's words in backticks, what would be right after `;`. */
  readonly message: string;
}

/** Something that loads but deserves a look. The code is stable. */
export interface Warning extends Fault {
  readonly code: string;
}

/** `file:line:column: path: message`, as editors and people read it. */
export function formatFault(fault: Fault): string {
  const place = `${fault.file}:${fault.line}:${fault.column}`;
  return fault.path === ""
    ? `${place}: ${fault.message}`
    : `${place}: ${fault.path}: ${fault.message}`;
}
