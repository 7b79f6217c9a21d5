/** One configuration over a log: the gateway's matcher, keys, live document and decision, entry by entry. */

import type { Settings } from "../../../config/settings.ts";
import { isConcurrency } from "../../../core/concurrency.ts";
import type { Policy } from "../../../core/policy.ts";
import { ENFORCED, Flag, type KeyRequest, type TakeReply } from "../../../core/take.ts";
import { clientKey, namedPlan } from "../../../http/key.ts";
import { compileMatcher, isPreflight } from "../../../http/match.ts";
import { regionOf, UNKNOWN as UNKNOWN_REGION } from "../../../http/region.ts";
import type { RequestHead } from "../../../keys/request-head.ts";
import { applyLive } from "../../../limiter/live/apply.ts";
import type { LiveDocument } from "../../../limiter/live/document.ts";
import { type LiveView, viewOf } from "../../../limiter/live/view.ts";
import { numbersOf } from "../../../limiter/numbers.ts";
import { partitionText } from "../../../partition/hash.ts";
import type { LogEntry, Recorded } from "../log/entry.ts";
import { type Client, clientText, ownText, textOf } from "./clients.ts";
import { Keeper, keyName, type Place } from "./counts.ts";
import { type HashText, hasherOf } from "./hash.ts";
import { InFlight, renewedEveryMs } from "./in-flight.ts";
import { type NeedOptions, whySkipped } from "./needs.ts";
import { type Named, numberedOf, PolicyRun, type Scope } from "./policy-run.ts";
import type { ConfigurationSummary, SkippedPolicy } from "./summary.ts";
import type { TimeAxis } from "./timeline.ts";

export interface Configuration {
  /** The file's name. */
  readonly name: string;
  readonly settings: Settings;
  /** What operators have changed. Absent: nothing. */
  readonly live?: LiveDocument;
}

/** What all configurations of a replay have in common. */
export interface RunOptions extends NeedOptions {
  readonly axis: TimeAxis;
  /** A client has one name in the report, also if no gateway's secret is known. */
  readonly secretOfRun: string;
  /** Whether recorded lines are decisions of this configuration. */
  readonly isPresent?: boolean;
}

/** A policy that a request takes from. */
export interface Take {
  readonly run: PolicyRun;
  /** Units. */
  readonly cost: number;
  readonly plan: string | undefined;
}

/** A policy as it is applied to a client. */
interface Applied {
  readonly run: PolicyRun;
  /** With the client's numbers. */
  readonly policy: Policy;
  readonly cost: number;
}

interface Matchable {
  readonly run: PolicyRun;
  /** The first policy with the same key: once it has read a request's client, no other one has to. */
  readonly sameKey: PolicyRun;
}

interface Key {
  readonly applied: Applied;
  readonly scope: Scope;
}

/** A log shows many more paths than an isolate meets in its life. About 10 MiB. */
const REMEMBERED_LINES = 20_000;
/** A remembered path keeps its whole URL in memory. Of a longer URL the matcher gets no query, which it never reads. */
const LONGEST_KEPT_URL = 512;

/** The slots of a request in flight. */
interface Held {
  readonly keys: readonly KeyRequest[];
  readonly places: readonly Place[];
  readonly slot: number;
  readonly endMs: number;
  readonly renewEveryMs: number;
}

export class ConfigurationRun {
  readonly name: string;
  /** In the order of the configuration, without those that are skipped. */
  readonly policies: readonly PolicyRun[];
  /** Whether the last request would have been admitted. */
  allowed = true;
  /** The policies that the last request took from, before the live document. */
  takes: readonly Take[] = [];
  /** Policies that could not be replayed, and why. */
  readonly skipped = new Map<string, string>();

  readonly settings: Settings;
  readonly #isRecorded: boolean;
  readonly #isPresent: boolean;
  /** Some log of several has no headers of CORS preflights. */
  readonly #lacksPreflights: boolean;
  readonly #lacksContinents: boolean;
  readonly #hash: HashText;
  readonly #hasOwnSecret: boolean;
  readonly #byName: ReadonlyMap<string, PolicyRun>;
  readonly #configured: ReadonlyMap<PolicyRun, Policy>;
  readonly #runs: ReadonlyMap<Policy, Matchable>;
  readonly #view: LiveView | undefined;
  /** The names of policies with overrides: their clients must be hashed. */
  readonly #overridden: ReadonlySet<unknown>;
  readonly #match: ReturnType<typeof compileMatcher>;
  readonly #numbers: ReturnType<typeof numbersOf>;
  readonly #keeper = new Keeper();
  readonly #inFlight = new InFlight<Held>();
  readonly #axis: TimeAxis;
  readonly #timeline;
  #head: RequestHead | undefined;
  #recordedRegion: string | undefined;
  #requests = 0;
  #refused = 0;
  /** Whether the last request is counted in `#unnamedRegions`. */
  #isUnnamed = false;
  #unnamedRegions = 0;
  #countedOptions = 0;
  #showsPreflights = false;
  #unknownDurations = 0;
  #endedEarly = 0;
  readonly #unknownPolicies = new Map<string, number>();
  readonly #skippedEnforced = new Set<string>();
  /** By the name of a policy that is not replayed: the recorded requests that it refused. */
  readonly #refusedElsewhere = new Map<string, number>();
  #flag: Flag = Flag.take;

  constructor({ name, settings, live }: Configuration, options: RunOptions) {
    const { axis, carried, isRecorded, secretOfRun, isPresent = false } = options;
    this.name = name;
    this.settings = settings;
    this.#isRecorded = isRecorded;
    this.#isPresent = isPresent;
    this.#lacksPreflights = carried.lacks("preflights") !== undefined;
    this.#lacksContinents = carried.lacks("key continent") !== undefined;
    this.#axis = axis;
    this.#timeline = axis.line();
    const { hash, isOwn } = hasherOf(settings, secretOfRun);
    this.#hash = hash;
    this.#hasOwnSecret = isOwn;
    // The partitions of recorded lines and those of the document are under one gateway's secret.
    const fingerprint = () => hash(partitionText({ kind: "live", values: [] }));
    const secret = () => (isRecorded ? live?.secret : undefined) ?? fingerprint();
    this.#view = live && viewOf(0, live, settings.policies, secret());
    const active = settings.policies.filter((policy) => {
      const reason = whySkipped(policy, settings, options);
      if (reason !== undefined) this.skipped.set(policy.name, reason);
      if (reason !== undefined && this.inForce(policy).mode === "enforce") this.#skippedEnforced.add(policy.name);
      return reason === undefined;
    });
    this.#overridden = new Set(live?.overrides.map((one: { policy?: unknown } | null) => one?.policy));
    this.policies = active.map((policy) => new PolicyRun(this.inForce(policy), axis));
    this.#byName = new Map(this.policies.map((run) => [run.policy.name, run]));
    const keys = active.map(({ key }) => JSON.stringify(key));
    const matchable = (i: number) => ({ run: this.policies[i]!, sameKey: this.policies[keys.indexOf(keys[i]!)]! });
    this.#runs = new Map(active.map((policy, i) => [policy, matchable(i)]));
    this.#configured = new Map(active.map((policy, i) => [this.policies[i]!, policy]));
    this.#match = compileMatcher(active, REMEMBERED_LINES);
    this.#numbers = numbersOf(active);
  }

  /** The policy as it is in force for all clients. */
  inForce(policy: Policy): Policy {
    return this.#view?.policy(policy) ?? policy;
  }

  /** The policy as it is configured, without what the live document changes. */
  configured(run: PolicyRun): Policy {
    return this.#configured.get(run)!;
  }

  /** Whether there is a live document. */
  get hasLive(): boolean {
    return this.#view !== undefined;
  }

  /** The region that answers the last request. */
  readonly region = (): string => {
    if (this.#recordedRegion !== undefined) return this.#recordedRegion;
    const { region, regions } = this.settings;
    const name = regionOf(this.#head!, region, regions);
    const isUnnamed = this.#lacksContinents && region === undefined && name === UNKNOWN_REGION;
    // The region of a request may be asked several times.
    if (isUnnamed && !this.#isUnnamed) this.#unnamedRegions++;
    this.#isUnnamed = isUnnamed;
    return name;
  };

  /** @param request its number. @param nowMs the log's clock. @param step of the time axis. */
  decide(entry: LogEntry, request: number, nowMs: number, step: number): void {
    this.#advance(nowMs);
    const { recorded } = entry;
    this.#recordedRegion = recorded?.region;
    this.#head = entry.head;
    this.#isUnnamed = false;
    this.takes = recorded ? this.#recordedTakes(recorded, request) : this.#matchedTakes(entry.head, request);
    if (entry.head.method === "OPTIONS") {
      this.#showsPreflights ||= isPreflight(entry.head);
      if (this.takes.some(passesPreflights)) this.#countedOptions++;
    }
    const isRefusedElsewhere = recorded !== undefined && this.#isRefusedBySkipped(recorded);
    this.#flag = isRefusedElsewhere ? Flag.look : Flag.take;
    this.allowed = this.takes.length === 0 || this.#decideTakes(entry.durationMs, request, nowMs, step);
    if (isRefusedElsewhere) this.allowed = false;
    this.#requests++;
    if (!this.allowed) this.#refused++;
    this.#timeline[this.allowed ? "admitted" : "refused"][step]!++;
  }

  #matchedTakes(head: RequestHead, request: number): Take[] {
    const takes: Take[] = [];
    for (const { policy, cost } of this.#match(head.url.length > LONGEST_KEPT_URL ? withoutQuery(head) : head)) {
      const { run, sameKey } = this.#runs.get(policy)!;
      const plan = policy.plan === undefined ? undefined : namedPlan(policy.plan, head, this.region);
      if (sameKey.last.request === request) begin(run, request, sameKey.last.kind, sameKey.last.text);
      else {
        const { kind, values } = clientKey(policy.key, head, this.region);
        begin(run, request, kind, textOf(values));
      }
      takes.push({ run, cost, plan });
    }
    return takes;
  }

  #recordedTakes({ takes: recorded }: Recorded, request: number): Take[] {
    const takes: Take[] = [];
    for (const { policy, kind, partition, cost, plan } of recorded) {
      const run = this.#byName.get(policy);
      if (run) {
        begin(run, request, kind, partition);
        takes.push({ run, cost, plan });
      } else if (!this.skipped.has(policy)) {
        this.#unknownPolicies.set(policy, (this.#unknownPolicies.get(policy) ?? 0) + 1);
      }
    }
    return takes;
  }

  /** What a policy that is not replayed has refused stays refused: it charged nothing. */
  #isRefusedBySkipped({ takes, allowed }: Recorded): boolean {
    // What the present configuration has admitted, the policy refused in shadow, whatever its mode is now.
    if (this.#skippedEnforced.size === 0 || (this.#isPresent && allowed)) return false;
    return takes.some(({ policy, refused }) => {
      if (!refused || !this.#skippedEnforced.has(policy)) return false;
      this.#refusedElsewhere.set(policy, (this.#refusedElsewhere.get(policy) ?? 0) + 1);
      return true;
    });
  }

  /** @returns whether the request is admitted. */
  #decideTakes(durationMs: number | undefined, request: number, nowMs: number, step: number): boolean {
    const view = this.#view;
    if (!view) {
      const applied = this.takes.map(({ run, cost, plan }): Applied => {
        return { run, cost, policy: plan === undefined ? run.policy : this.#numbers(run.policy, { plan }) };
      });
      return this.#decideApplied(applied, durationMs, request, nowMs, step);
    }
    const named = this.takes.map(({ run, cost, plan }) => {
      const { kind, client } = this.#overridden.has(run.policy.name) ? this.nameOf(run.last) : NOBODY;
      return { policy: this.configured(run), kind, partition: client, cost, own: { plan } };
    });
    const { applied, blockedBy } = applyLive(view, named, nowMs, this.#numbers);
    const all = applied.map(({ policy, cost }): Applied => ({ run: this.#byName.get(policy.name)!, policy, cost }));
    if (!blockedBy) return this.#decideApplied(all, durationMs, request, nowMs, step);
    for (const { run, cost } of all) {
      run.last.isBlocked = blockedBy.includes(run.policy.name);
      this.#end(run, cost, run.last.isBlocked, step);
    }
    return false;
  }

  #decideApplied(
    all: readonly Applied[],
    durationMs: number | undefined,
    request: number,
    nowMs: number,
    step: number,
  ): boolean {
    const [keys, requests, places]: [Key[], KeyRequest[], Place[]] = [[], [], []];
    let shadowPolicies = 0;
    let holdsSlots = false;
    for (const applied of all) {
      const { run, policy, cost } = applied;
      const group = policy.mode === "shadow" ? ++shadowPolicies : ENFORCED;
      for (const scope of numberedOf(policy).scopes) {
        requests.push({ key: keyName(keys.length), group, cost, limits: scope.limits });
        places.push({ counts: run.countsOf(scope, scope.isRegional ? this.region() : ""), client: run.last.client });
        keys.push({ applied, scope });
        holdsSlots ||= cost > 0 && scope.limits.some(isConcurrency);
      }
    }
    if (keys.length === 0) return true;
    const slot = holdsSlots ? request + 1 : 0;
    const reply = this.#keeper.take(places, { keys: requests, flag: this.#flag, slot }, nowMs);
    if (slot > 0 && reply.allowed && this.#flag === Flag.take)
      this.#hold(requests, places, reply, slot, durationMs, nowMs);
    this.#count(all, keys, reply, nowMs, step);
    return reply.allowed;
  }

  #count(all: readonly Applied[], keys: readonly Key[], reply: TakeReply, nowMs: number, step: number): void {
    let k = 0;
    for (const applied of all) {
      const { run, policy, cost } = applied;
      const { quotas } = numberedOf(policy);
      let refused = false;
      for (; keys[k]?.applied === applied; k++) {
        const { limits, positions } = keys[k]!.scope;
        const replies = reply.keys[k]!;
        for (let l = 0; l < limits.length; l++) {
          const position = positions[l]!;
          refused ||= replies[l]!.refused;
          run.countLimit(limits[l]!, position, quotas[position]!, replies[l]!, nowMs);
        }
      }
      this.#end(run, cost, refused, step);
    }
  }

  #end(run: PolicyRun, cost: number, refused: boolean, step: number): void {
    run.last.refused = refused;
    run.count(cost, step);
  }

  /** The slots of an admitted request are renewed, as the gateway does it, and released when the request has ended. */
  #hold(
    requests: readonly KeyRequest[],
    all: readonly Place[],
    reply: TakeReply,
    slot: number,
    durationMs: number | undefined,
    nowMs: number,
  ): void {
    if (durationMs === undefined) {
      this.#unknownDurations++;
      return;
    }
    const refusedGroups = new Set(requests.flatMap(({ group }, k) => (reply.keys[k]!.some(isRefused) ? [group] : [])));
    const [keys, places]: [KeyRequest[], Place[]] = [[], []];
    let renewEveryMs = Number.POSITIVE_INFINITY;
    for (const [k, request] of requests.entries()) {
      const limits = request.limits.filter(isConcurrency);
      if (limits.length === 0 || request.cost === 0 || refusedGroups.has(request.group)) continue;
      keys.push({ ...request, key: keyName(keys.length), limits });
      places.push(all[k]!);
      renewEveryMs = Math.min(renewEveryMs, ...limits.map(({ timeoutMs }) => renewedEveryMs(timeoutMs)));
    }
    if (keys.length === 0) return;
    if (this.#inFlight.isFull) {
      this.#endedEarly++;
      this.#settle(this.#inFlight.next(Number.POSITIVE_INFINITY)!.what, Flag.giveBack, nowMs);
    }
    const endMs = nowMs + durationMs;
    this.#inFlight.add(Math.min(endMs, nowMs + renewEveryMs), { keys, places, slot, endMs, renewEveryMs });
  }

  /** Renews and releases slots until this instant. */
  #advance(nowMs: number): void {
    for (;;) {
      const event = this.#inFlight.next(nowMs);
      if (!event) return;
      const { atMs, what } = event;
      if (atMs >= what.endMs) this.#settle(what, Flag.giveBack, atMs);
      else {
        this.#settle(what, Flag.chargeAnyway, atMs);
        this.#inFlight.add(Math.min(what.endMs, atMs + what.renewEveryMs), what);
      }
    }
  }

  #settle({ keys, places, slot }: Held, flag: Flag, atMs: number): void {
    this.#keeper.take(places, { keys, flag, slot }, atMs);
  }

  sweep(nowMs: number): void {
    for (const run of this.policies) run.sweep(nowMs);
  }

  nameOf(client: Client): Named {
    return { client: this.#isRecorded ? client.text : this.#hash(clientText(client)), kind: client.kind };
  }

  /** Of recorded lines: the policies that some line names. */
  get replayed(): readonly PolicyRun[] {
    return this.policies.filter(({ requests }) => requests > 0 || !this.#isRecorded);
  }

  summary(): ConfigurationSummary {
    return {
      name: this.name,
      requests: { requests: this.#requests, refused: this.#refused },
      policies: this.replayed.map((run) => run.summary(this.#axis, (client) => this.nameOf(client))),
      skipped: this.skippedPolicies(),
      timeline: this.#axis.timeline(this.#timeline),
    };
  }

  skippedPolicies(): SkippedPolicy[] {
    return [
      ...this.settings.policies.flatMap((policy) => {
        const reason = this.skipped.get(policy.name);
        return reason === undefined ? [] : [{ policy: policy.name, reason, mode: this.inForce(policy).mode }];
      }),
      ...this.policies
        .filter(({ requests }) => this.#isRecorded && requests === 0)
        .map(({ policy: { name, mode } }) => ({ policy: name, reason: "no recorded line names it", mode })),
      ...[...this.#unknownPolicies].map(([policy, lines]) => ({
        policy,
        reason: `${lines} recorded lines name it, and the configuration does not have it`,
      })),
    ];
  }

  notes(): string[] {
    const notes: string[] = [];
    const say = (note: string) => notes.push(`${this.name}: ${note}`);
    if (!this.#isRecorded && !this.#hasOwnSecret) {
      say("clients are hashed under a secret of this run, because the gateway's key secret is not known here");
    }
    if (this.#view?.hasOtherSecret) {
      say("overrides of the live document were made under another key secret: their clients cannot be found");
    }
    for (const { path, reason } of this.#view?.unknown.first ?? []) {
      say(`the live document's ${path} does nothing: ${reason}`);
    }
    for (const { policy, clients } of this.policies) {
      if (policy.meter && this.#isRecorded) {
        say(`${policy.name} is replayed with the units that were reserved: what was settled later is not recorded`);
      }
      if (clients.overflowed) {
        say(
          `${policy.name} has more clients than are counted; its decisions are exact, its numbers of clients are not`,
        );
      }
    }
    for (const [policy, requests] of this.#refusedElsewhere) {
      const stay = requests === 1 ? "1 request stays" : `${requests} requests stay`;
      say(`${stay} refused as recorded: the policy ${policy}, which is not replayed, refused`);
    }
    if (this.#unnamedRegions > 0) {
      say(`${this.#unnamedRegions} requests had no region by REGIONS and count under ${UNKNOWN_REGION}`);
    }
    if (this.#countedOptions > 0 && (this.#lacksPreflights || !this.#showsPreflights)) {
      const were =
        this.#countedOptions === 1 ? "1 OPTIONS request was" : `${this.#countedOptions} OPTIONS requests were`;
      say(`${were} counted; the gateway passes CORS preflights, which the log does not show`);
    }
    if (this.#unknownDurations > 0) {
      say(`${this.#unknownDurations} requests do not tell how long they took: each holds its slot until the timeout`);
    }
    if (this.#endedEarly > 0) {
      say(`${this.#endedEarly} requests gave their slots back too early: more were in flight than can be kept`);
    }
    return notes;
  }
}

/** A policy that names OPTIONS counts preflights, too. */
function passesPreflights({ run: { policy } }: Take): boolean {
  return !policy.match.method?.includes("OPTIONS");
}

function withoutQuery({ method, url, headers }: RequestHead): RequestHead {
  return { method, headers, url: ownText(url.split("?", 1)[0]!) };
}

/** A client under a policy without overrides. */
const NOBODY: Named = { client: "", kind: "" };

function begin({ clients, last }: PolicyRun, request: number, kind: string, text: string): void {
  last.request = request;
  last.kind = kind;
  last.text = text;
  last.client = clients.numberOf(kind, text);
  last.refused = false;
  last.isBlocked = false;
}

function isRefused({ refused }: { readonly refused: boolean }): boolean {
  return refused;
}
