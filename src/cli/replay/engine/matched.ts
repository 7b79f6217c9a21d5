/** The policies that a request takes from: those that the gateway's matcher finds, with the client that each counts. */

import type { Settings } from "../../../config/settings.ts";
import type { Policy } from "../../../core/policy.ts";
import { clientKey, namedOnce, namedPlan } from "../../../http/key.ts";
import { withLinks } from "../../../http/links.ts";
import { compileMatcher, isPreflight, sameRequest } from "../../../http/match.ts";
import { regionOf, UNKNOWN } from "../../../http/region.ts";
import type { RequestHead } from "../../../keys/request-head.ts";
import { partitionText } from "../../../partition/hash.ts";
import type { Carried } from "../log/format.ts";
import type { Asked } from "./chain-run.ts";
import { type Clients, ownText, textOf } from "./clients.ts";
import { type PolicyTake, undecided } from "./policy-run.ts";

/** A log shows many more paths than an isolate meets in its life. About 10 MiB. */
const REMEMBERED_LINES = 20_000;
/** A remembered path keeps its whole URL in memory. Of a longer URL the matcher gets no query, which it never reads. */
const LONGEST_KEPT_URL = 512;

interface Matchable extends Asked {
  /** The first policy with the same key has this position: only that one has to read a request's client. */
  readonly first: number;
}

export class Matched {
  readonly #settings: Settings;
  readonly #clients: Clients;
  readonly #asked: ReadonlyMap<Policy, Matchable>;
  readonly #match: ReturnType<typeof compileMatcher>;
  /** Some log of several does not have it. */
  readonly #lacksContinents: boolean;
  readonly #lacksPreflights: boolean;
  #countedOptions = 0;
  #showsPreflights = false;
  #withoutRegion = 0;

  /** @param asked by the policy as it is configured. */
  constructor(asked: ReadonlyMap<Policy, Asked>, settings: Settings, clients: Clients, carried: Carried) {
    this.#settings = settings;
    this.#clients = clients;
    const keys = [...asked.keys()].map(({ key }) => JSON.stringify(key));
    this.#asked = new Map([...asked].map(([policy, one], i) => [policy, { ...one, first: keys.indexOf(keys[i]!) }]));
    this.#match = compileMatcher(
      settings.policies.filter((policy) => asked.has(policy)),
      REMEMBERED_LINES,
    );
    this.#lacksContinents = carried.lacks("key continent") !== undefined;
    this.#lacksPreflights = carried.lacks("preflights") !== undefined;
  }

  takes(head: RequestHead, region: () => string): PolicyTake[] {
    const read: PolicyTake["client"][] = [];
    const matched = this.#match(head.url.length > LONGEST_KEPT_URL ? withoutQuery(head) : head);
    const takes = withLinks(matched).map(({ policy, cost, link }): PolicyTake => {
      const { run, policy: inForce, first } = this.#asked.get(policy)!;
      const plan = policy.plan === undefined ? undefined : namedPlan(policy.plan, head, region);
      const client = read[first] ?? this.#clientOf(policy, head, region);
      read[first] = client;
      const id = policy.once && cost > 0 ? namedOnce(policy.once.source, head, region) : undefined;
      // The text stands for its hash, which the gateway's secret makes.
      const once = id && partitionText({ kind: "once", values: [...id, ...sameRequest(head), String(cost)] });
      return undecided({ run, policy: inForce, link, cost, plan, client, once });
    });
    if (head.method === "OPTIONS") {
      this.#showsPreflights ||= isPreflight(head);
      if (takes.some(passesPreflights)) this.#countedOptions++;
    }
    return takes;
  }

  #clientOf({ key }: Policy, head: RequestHead, region: () => string): PolicyTake["client"] {
    const { kind, values } = clientKey(key, head, region, this.#settings.ipv6Prefix);
    const text = textOf(values);
    return { kind, text, number: this.#clients.numberOf(kind, text) };
  }

  /** What finds the region that answers a request, when it is asked for the first time. */
  regionOf(head: RequestHead): () => string {
    let name: string | undefined;
    return () => {
      if (name !== undefined) return name;
      const { region, regions } = this.#settings;
      name = regionOf(head, region, regions);
      if (this.#lacksContinents && region === undefined && name === UNKNOWN) this.#withoutRegion++;
      return name;
    };
  }

  notes(): string[] {
    const notes: string[] = [];
    if (this.#withoutRegion > 0) {
      notes.push(`${this.#withoutRegion} requests had no region by REGIONS and count under ${UNKNOWN}`);
    }
    const options = this.#countedOptions;
    if (options > 0 && (this.#lacksPreflights || !this.#showsPreflights)) {
      const were = options === 1 ? "1 OPTIONS request was" : `${options} OPTIONS requests were`;
      notes.push(`${were} counted; the gateway passes CORS preflights, which the log does not show`);
    }
    return notes;
  }
}

function withoutQuery({ method, url, headers }: RequestHead): RequestHead {
  return { method, headers, url: ownText(url.split("?", 1)[0]!) };
}

/** A policy that names OPTIONS counts preflights, too. */
function passesPreflights({ policy, link }: PolicyTake): boolean {
  return !link && !policy.match.method?.includes("OPTIONS");
}
