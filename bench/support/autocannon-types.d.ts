// The package ships no types; this is what we use of it.
declare module "autocannon" {
  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly duration: number;
    readonly idReplacement: boolean;
    readonly requests: readonly {
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
    }[];
  }
  interface Result {
    readonly errors: number;
    readonly timeouts: number;
    readonly non2xx: number;
    readonly "2xx": number;
    /** Seconds. */
    readonly duration: number;
  }
  function run(options: Options): Promise<Result>;
  export = run;
}
