/** `headgate doctor`: what a running gateway lacks, or the store that a configuration names. */

import type { Command } from "commander";
import { isTable } from "../../kernel/config/bindings.ts";
import { TAKE } from "../../kernel/store/redis/script.generated.ts";
import { VERSION } from "../../kernel/version.ts";
import { type DoctorFacts, doctorFacts, namedPlaces } from "../../operate/doctor.ts";
import { storeOf } from "../../stores/store-from-env.ts";
import { type Access, callAdmin, checkedAccess, isThisMachine, jsonIn, reservedUrl, send } from "../admin/api.ts";
import { type ExitCode, Failure, type Io } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import {
  DEPLOYED_TOKEN,
  type ReadBindingsOptions,
  readSettings,
  withBindingOptions,
} from "../wrangler/read-bindings.ts";
import { type Finding, findingsOf, type Seen } from "./findings.ts";

interface DoctorOptions extends ReadBindingsOptions {
  readonly token?: string;
  readonly json?: boolean;
}

export function addDoctor(program: Command, io: Io, end: (code: ExitCode) => void): void {
  withBindingOptions(program.command("doctor"))
    .description("say what a running gateway lacks: its store, clocks, eviction, secrets, addresses, versions")
    .argument("[target]", "the gateway's URL, or wrangler's configuration file (default: HEADGATE_URL, or that file)")
    .option("--token <token>", "the gateway's ADMIN_TOKEN (default: HEADGATE_TOKEN, which other users cannot see)")
    .option("--json", "print one JSON object: target, findings, facts")
    .action(async (target: string | undefined, options: DoctorOptions) => end(await doctor(target, options, io)));
}

async function doctor(named: string | undefined, options: DoctorOptions, io: Io): Promise<ExitCode> {
  // Only an argument may be a file.
  const target = named ?? (io.env.HEADGATE_URL || undefined);
  const isUrl = target !== undefined && (named === undefined || /^https?:/i.test(target));
  const from = named === undefined ? "HEADGATE_URL" : "target";
  const token = options.token ?? io.env.HEADGATE_TOKEN ?? "";
  const seen = isUrl ? await seenAt(checkedAccess(target, from, token, io.err)) : await seenFrom(target, options, io);
  const findings = findingsIn(seen);
  if (options.json) io.out(jsonText({ target: target ?? null, findings, facts: seen.facts ?? null }));
  else io.out(findings.map(shown).join(""));
  return findings.some(({ level }) => level === "problem") ? 1 : 0;
}

export function shown({ level, about, says, todo }: Finding): string {
  const first = line(`${level.padEnd(7)}  ${about}: ${says}`);
  return todo === undefined ? first : first + line(`${" ".repeat(9)}${todo}`);
}

const LOCAL_TIMEOUT_MS = 10_000;
const HERE = { version: VERSION, script: TAKE.sha1 };

/** What another version of the gateway answers may have any form. */
function findingsIn(seen: Seen): Finding[] {
  try {
    return findingsOf(seen);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const { facts: _, clock: __, ...others } = seen;
    return findingsOf({ ...others, refused: "its answer has another form" });
  }
}

/** @throws {Failure} if there is no gateway. */
async function seenAt(access: Access): Promise<Seen> {
  const { url, token } = access;
  const response = await send(reservedUrl(url, "/health"), { headers: { Accept: "application/json" } });
  const health = await jsonIn(response);
  if (!isTable(health) || !/^\d+\.\d+\.\d+[\w.+-]{0,50}$/.test(String(health.version))) {
    throw new Failure(`${url.host} answered ${response.status} without a version. Is it a gateway?`);
  }
  const seen = { ...HERE, isHere: isThisMachine(url), health };
  if (!token || health.status === "misconfigured") return seen;
  const sentMs = Date.now();
  try {
    const facts = (await callAdmin(access, { path: "/doctor", answers: "places" })) as unknown as DoctorFacts;
    // The gateway reads its clock at the end, somewhere between these two instants.
    const accuracyMs = (Date.now() - sentMs) / 2;
    return { ...seen, facts, clock: { aheadMs: facts.atMs - sentMs - accuracyMs, accuracyMs } };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { ...seen, refused: error.lines[0]! };
  }
}

/** @throws {Failure} with every mistake of the configuration. */
async function seenFrom(file: string | undefined, options: DoctorOptions, io: Io): Promise<Seen> {
  const read = readSettings(file, options, io);
  // This machine may be farther from Redis than the gateway.
  const settings = read.redis ? { ...read, redis: { ...read.redis, timeoutMs: LOCAL_TIMEOUT_MS } } : read;
  const ofObject = settings.redis === undefined && settings.counts !== undefined;
  // Objects live in workerd, and a secret of the deployed Worker is not here.
  const store = ofObject ? { kind: "durable-object" } : storeOf(settings);
  const isSecret = settings.redis?.nodes.some(({ token }) => token === DEPLOYED_TOKEN);
  const places = "take" in store && !isSecret ? namedPlaces(settings, store) : [];
  const facts = await doctorFacts(settings, store, places, null);
  return { ...HERE, isHere: true, facts };
}
