/** Where the verifier tells what happens to its sources; pino's loggers fit. */
export interface VerifyLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
