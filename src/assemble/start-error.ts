/** A start that cannot be: every fault of every file, a line each. */
export class StartError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(faults.join("\n"), options);
    this.name = "StartError";
    this.faults = faults;
  }
}
