import { note } from "../exit.ts";

/** Tells people on stderr how far a run is, once it is long enough to be wondered about. */
export interface Progress {
  step(): void;
  end(): void;
}

const EVERY_MS = 2000;

/** Counts steps towards a total, a line every two seconds. */
export function startProgress(total: number, what: string): Progress {
  let done = 0;
  const timer = setInterval(() => note(`${done} of ${total} ${what}`), EVERY_MS);
  return {
    step: () => {
      done++;
    },
    end: () => clearInterval(timer),
  };
}
