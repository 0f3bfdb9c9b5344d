/** What a note is about; stable, for programs. */
export type NoteCode =
  /** Depends on something that robots.txt cannot tell. */
  | "unseen_input"
  /** Tests the path in a way that no pattern can. */
  | "no_pattern"
  /** A pattern that also matches in the query. */
  | "approximated"
  /** Paths are left on which the file and enforcement differ. */
  | "not_fully_expressed"
  /** Tests the method; the file speaks for GET. */
  | "other_method"
  /** Limits by something that a crawler cannot pace itself by. */
  | "limit_key"
  /** Faster than any whole number of seconds can say. */
  | "limit_above_60"
  /** Covers a part of the site, while a delay is for all of it. */
  | "limit_partial"
  /** Longer than some crawlers accept. */
  | "long_delay"
  /** No group can be written for a crawler. */
  | "no_token"
  /** The file is longer than some crawlers read. */
  | "large_file"
  /** What holds for every file: other spellings of a path, and other cases of its letters. */
  | "other_readings"
  | "other_case";

/** Where the published file says less, or other, than what is enforced. */
export interface RobotsNote {
  /** Empty where no rule is meant. */
  readonly ruleId: string;
  readonly code: NoteCode;
  /** For people: no capital, no full stop. */
  readonly message: string;
  /** A path, as in a URL, on which file and enforcement may differ; undefined where none is known. */
  readonly witness: string | undefined;
}
