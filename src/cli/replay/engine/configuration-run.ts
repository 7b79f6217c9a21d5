/** One configuration over a log: the gateway's matcher, keys, live document and decision, entry by entry. */

import type { Settings } from "../../../config/settings.ts";
import type { Policy } from "../../../core/policy.ts";
import { Flag } from "../../../core/take.ts";
import type { LiveDocument } from "../../../limiter/live/document.ts";
import type { LiveView } from "../../../limiter/live/view.ts";
import type { LogEntry } from "../log/entry.ts";
import { AppliedPolicies } from "./applied-policies.ts";
import { type Client, clientText, rawKey } from "./clients.ts";
import { Keeper } from "./counts.ts";
import { Decider } from "./decider.ts";
import { type HashText, hasherOf } from "./hash.ts";
import { liveNotes, liveViewOf } from "./live-view.ts";
import { MatchedTakes } from "./matched-takes.ts";
import type { NeedOptions } from "./needs.ts";
import type { PolicyRun, Take } from "./policy-run.ts";
import { Preflights } from "./preflights.ts";
import { RecordedTakes } from "./recorded-takes.ts";
import { ReplayedPolicies } from "./replayed-policies.ts";
import { RequestRegion } from "./request-region.ts";
import { Slots } from "./slots.ts";
import type { ConfigurationSummary, Named, SkippedPolicy } from "./summary.ts";
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
  /** Whether the report shows keys beside their hashes. Absent: no. */
  readonly showKeys?: boolean;
  /** Whether recorded lines are decisions of this configuration. */
  readonly isPresent?: boolean;
}

export class ConfigurationRun {
  readonly name: string;
  readonly settings: Settings;
  /** Whether the last request would have been admitted. */
  allowed = true;
  /** The policies that the last request took from, before the live document. */
  takes: readonly Take[] = [];
  /** The region that answers the last request. */
  readonly region: () => string;

  readonly #isRecorded: boolean;
  readonly #showKeys: boolean;
  readonly #hash: HashText;
  readonly #hasOwnSecret: boolean;
  readonly #view: LiveView | undefined;
  readonly #policies: ReplayedPolicies;
  readonly #requestRegion: RequestRegion;
  readonly #matched: MatchedTakes;
  readonly #recorded: RecordedTakes;
  readonly #preflights: Preflights;
  readonly #slots: Slots;
  readonly #decider: Decider;
  readonly #axis: TimeAxis;
  readonly #timeline;
  #requests = 0;
  #refused = 0;

  constructor({ name, settings, live }: Configuration, options: RunOptions) {
    const { axis, carried, isRecorded, secretOfRun, showKeys = false, isPresent = false } = options;
    this.name = name;
    this.settings = settings;
    this.#isRecorded = isRecorded;
    this.#showKeys = showKeys && !isRecorded;
    this.#axis = axis;
    this.#timeline = axis.line();
    const { hash, isOwn } = hasherOf(settings, secretOfRun);
    this.#hash = hash;
    this.#hasOwnSecret = isOwn;
    this.#view = live && liveViewOf(settings, live, isRecorded, hash);
    this.#policies = new ReplayedPolicies(settings, this.#view, options, axis);
    this.#requestRegion = new RequestRegion(settings, carried);
    this.region = this.#requestRegion.name;
    this.#matched = new MatchedTakes(this.#policies, this.region);
    this.#recorded = new RecordedTakes(this.#policies, isPresent);
    this.#preflights = new Preflights(carried);
    const keeper = new Keeper();
    this.#slots = new Slots(keeper);
    const applied = new AppliedPolicies(this.#policies, this.#view, (client) => this.nameOf(client));
    this.#decider = new Decider(applied, keeper, this.#slots, this.region);
  }

  /** In the order of the configuration, without those that are skipped. */
  get policies(): readonly PolicyRun[] {
    return this.#policies.runs;
  }

  /** Policies that could not be replayed, and why. */
  get skipped(): ReadonlyMap<string, string> {
    return this.#policies.skipped;
  }

  /** Of recorded lines: the policies that some line names. */
  get replayed(): readonly PolicyRun[] {
    return this.#policies.replayed;
  }

  /** Whether there is a live document. */
  get hasLive(): boolean {
    return this.#view !== undefined;
  }

  /** The policy as it is in force for all clients. */
  inForce(policy: Policy): Policy {
    return this.#policies.inForce(policy);
  }

  /** The policy as it is configured, without what the live document changes. */
  configured(run: PolicyRun): Policy {
    return this.#policies.configured(run);
  }

  nameOf(client: Client): Named {
    const hash = this.#isRecorded ? client.text : this.#hash(clientText(client));
    return { client: hash, kind: client.kind, ...(this.#showKeys && { key: rawKey(client) }) };
  }

  /** @param request its number. @param nowMs the log's clock. @param step of the time axis. */
  decide(entry: LogEntry, request: number, nowMs: number, step: number): void {
    const { head, recorded, durationMs } = entry;
    this.#slots.advance(nowMs);
    this.#requestRegion.begin(entry);
    this.takes = recorded ? this.#recorded.takes(recorded, request) : this.#matched.takes(head, request);
    if (head.method === "OPTIONS") this.#preflights.count(head, this.takes);
    const isRefusedElsewhere = recorded !== undefined && this.#recorded.isRefusedBySkipped(recorded);
    const flag = isRefusedElsewhere ? Flag.look : Flag.take;
    this.allowed =
      this.takes.length === 0 || this.#decider.decide(this.takes, { flag, durationMs, request, step }, nowMs);
    if (isRefusedElsewhere) this.allowed = false;
    this.#requests++;
    if (!this.allowed) this.#refused++;
    this.#timeline[this.allowed ? "admitted" : "refused"][step]!++;
  }

  sweep(nowMs: number): void {
    for (const run of this.policies) run.sweep(nowMs);
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
    return [...this.#policies.skippedPolicies(), ...this.#recorded.unknownPolicies()];
  }

  notes(): string[] {
    const hashed = "clients are hashed under a secret of this run, because the gateway's key secret is not known here";
    const notes = [
      ...(this.#isRecorded || this.#hasOwnSecret ? [] : [hashed]),
      ...liveNotes(this.#view),
      ...this.#policies.notes(),
      ...this.#recorded.notes(),
      ...this.#requestRegion.notes(),
      ...this.#preflights.notes(),
      ...this.#slots.notes(),
    ];
    return notes.map((note) => `${this.name}: ${note}`);
  }
}
