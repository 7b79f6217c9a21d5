/** The policies that a request takes from: those that the gateway's matcher finds, with the client that each counts. */

import type { Policy } from "../../../core/policy.ts";
import { clientKey, namedPlan } from "../../../http/key.ts";
import { compileMatcher } from "../../../http/match.ts";
import type { RequestHead } from "../../../keys/request-head.ts";
import { ownText, textOf } from "./clients.ts";
import type { PolicyRun, Take } from "./policy-run.ts";
import type { ReplayedPolicies } from "./replayed-policies.ts";

/** A log shows many more paths than an isolate meets in its life. About 10 MiB. */
const REMEMBERED_LINES = 20_000;
/** A remembered path keeps its whole URL in memory. Of a longer URL the matcher gets no query, which it never reads. */
const LONGEST_KEPT_URL = 512;

interface Matchable {
  readonly run: PolicyRun;
  /** The first policy with the same key: once it has read a request's client, no other one has to. */
  readonly sameKey: PolicyRun;
}

export class MatchedTakes {
  readonly #runs: ReadonlyMap<Policy, Matchable>;
  readonly #match: ReturnType<typeof compileMatcher>;
  readonly #region: () => string;

  /** @param region of the last request. */
  constructor(policies: ReplayedPolicies, region: () => string) {
    const { runs } = policies;
    const configured = runs.map((run) => policies.configured(run));
    const keys = configured.map(({ key }) => JSON.stringify(key));
    const matchable = (i: number) => ({ run: runs[i]!, sameKey: runs[keys.indexOf(keys[i]!)]! });
    this.#runs = new Map(configured.map((policy, i) => [policy, matchable(i)]));
    this.#match = compileMatcher(configured, REMEMBERED_LINES);
    this.#region = region;
  }

  takes(head: RequestHead, request: number): Take[] {
    const takes: Take[] = [];
    for (const { policy, cost } of this.#match(head.url.length > LONGEST_KEPT_URL ? withoutQuery(head) : head)) {
      const { run, sameKey } = this.#runs.get(policy)!;
      const plan = policy.plan === undefined ? undefined : namedPlan(policy.plan, head, this.#region);
      if (sameKey.last.request === request) run.begin(request, sameKey.last.kind, sameKey.last.text);
      else {
        const { kind, values } = clientKey(policy.key, head, this.#region);
        run.begin(request, kind, textOf(values));
      }
      takes.push({ run, cost, plan });
    }
    return takes;
  }
}

function withoutQuery({ method, url, headers }: RequestHead): RequestHead {
  return { method, headers, url: ownText(url.split("?", 1)[0]!) };
}
