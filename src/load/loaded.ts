import { policyDocument } from "../core/policy/hash.ts";
import type { Policy } from "../core/policy/policy.ts";
import { type SiteFiles, siteFilesOf } from "../core/robots/site-files.ts";

/** A policy with all that is made of it once, when it is loaded. */
export interface LoadedPolicy {
  readonly policy: Policy;
  /** What the ledger keeps of it, to explain decisions later. */
  readonly document: string;
  /** Undefined where the site's own robots.txt is served. */
  readonly robots: SiteFiles | undefined;
}

/** Makes what is made of a policy once. Throws where its robots.txt would contradict it unsaid. */
export function completeLoading(policy: Policy): LoadedPolicy {
  return { policy, document: policyDocument(policy), robots: siteFilesOf(policy) };
}
