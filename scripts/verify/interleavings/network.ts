/** Messages between isolates and stores: what may happen to each, and what it does. */

import { isConcurrency } from "../../../src/kernel/core/concurrency.ts";
import {
  ENFORCED,
  Flag,
  type KeyRequest,
  keysOfRequest,
  type LimitReply,
  type TakeReply,
  type TakeRequest,
} from "../../../src/kernel/core/take.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import { isRefusedIn } from "./answers.ts";
import { type Forms, slotForm } from "./canonical.ts";
import { type Cell, chargedIn, policyNow, unitsIn } from "./cells.ts";
import { owe, oweAlone, unitsWith, voidCharges } from "./charged.ts";
import { type Choice, type Flow, type HomePlace, keptOf, type Message } from "./parts.ts";
import { memoriesAt, type Scene } from "./scene.ts";

/** What may happen to the messages now. */
export function messageChoices({ messages, nowMs, left }: Scene): Choice[] {
  const all: Choice[] = [];
  for (const { id, state, flow, isLate, budgetEndsAtMs, request } of messages) {
    if (state === "sent") all.push(["arrive", id]);
    if (state === "arrived" && flow) all.push(["reply", id]);
    if (flow && !isLate && request && budgetEndsAtMs <= nowMs) all.push(["late", id]);
    if (flow && state === "lost" && isLate) all.push(["never", id]);
    if (left.faults > 0 && flow && !isLate) {
      if (state !== "lost") all.push(["lose", id]);
      if (state === "sent") all.push(["refuse", id]);
      if (state !== "lost" && request) all.push(["break", id]);
    }
  }
  return all;
}

/**
 * Whose units a key gives back. What was refused before it ran goes back later, with the same key: another request may
 * carry it.
 */
const returnedFor = new WeakMap<KeyRequest, Flow>();

function senderOf(request: TakeRequest | undefined, flow: Flow): Flow {
  const key = request?.flag === Flag.giveBack ? request.keys[0] : undefined;
  if (!key) return flow;
  const sender = returnedFor.get(key) ?? flow;
  returnedFor.set(key, sender);
  return sender;
}

export function send(
  scene: Scene,
  flow: Flow,
  at: HomePlace,
  request: TakeRequest | undefined,
  budgetMs: number,
): Promise<TakeReply | undefined> {
  const sent = scene.note(flow, "call");
  const asked = scene.askedCells({ at, request });
  const id = scene.nextId();
  for (const { cell, units } of unitsWith(asked, request, Flag.chargeAnyway)) {
    const account = flow.home.accounts[cell.index]!;
    if (account.told) {
      account.told.sent(id, units, scene.nowMs + flow.home.offsetMs, cell.limit);
      continue;
    }
    account.repaid += units;
    if (request!.flag === Flag.chargeAnyway) account.debtsSent += units;
    const { owed, repaid } = account;
    if (repaid > owed) scene.fail(`the isolate has repaid ${repaid} units, and it owed ${owed}`);
  }
  for (const { cell, key } of asked) {
    if (request?.slot) scene.fail(cell.slots?.sent(request.slot, key!.flag ?? request.flag, flow.home));
  }
  return new Promise((resolve, reject) => {
    scene.messages.push({
      id,
      flow,
      sender: senderOf(request, flow),
      at,
      words: wordsOf(scene, request),
      sent,
      request,
      budgetEndsAtMs: scene.nowMs + Math.max(1, Math.ceil(budgetMs)),
      state: "sent",
      isLate: false,
      isVoid: false,
      reply: undefined,
      resolve,
      reject,
      answerLate: () => {},
    });
  });
}

/** Something happens to a message. @param name of the choice. */
export function deliver(scene: Scene, name: string, message: Message): void {
  const { flow, at, words, request } = message;
  const { home } = at;
  const isFault = ["lose", "refuse", "break"].includes(name);
  // What is not given back lapses with its window.
  if (isFault && message.state === "sent") {
    for (const { cell, units, atMs } of returnsOf(scene, message)) cell.ledger.lapse(units, atMs);
    if (request?.flag === Flag.giveBack) lapseIds(scene, message);
  }
  switch (name) {
    case "arrive":
      arrive(scene, message);
      return;
    case "lose":
      scene.left.faults--;
      scene.say(`${home.name}: ${message.state === "sent" ? words : `the reply to ${words}`} is lost`);
      if (message.state === "arrived") lost(scene, message);
      message.state = "lost";
      // A reset has no time budget of its own here: its connection breaks.
      if (!request) endMessage(scene, message, () => message.reject(new StoreError("NETWORK")));
      return;
    case "refuse":
      scene.left.faults--;
      scene.say(`${home.name}: ${words} is refused before it runs`);
      for (const { cell, units } of unitsWith(scene.askedCells(message), request, Flag.chargeAnyway)) {
        const account = home.accounts[cell.index]!;
        account.told?.refused(message.id);
        if (account.told) continue;
        // A reset ends debts, and no reservation: what it is settled with is owed again.
        if (account.repaid === 0 && flow!.held) owe(scene, home, cell, units);
        account.repaid = Math.max(0, account.repaid - units);
        if (request!.flag === Flag.chargeAnyway) account.debtsSent = Math.max(0, account.debtsSent - units);
      }
      if (request?.flag === Flag.take) keptOf(flow!.places, scene.askedCells(message)[0]!.cell).isNotRun = true;
      endMessage(scene, message, () => message.reject(new StoreError("OVERLOADED")));
      return;
    case "break":
      scene.left.faults--;
      scene.say(`${home.name}: the connection of ${words} breaks`);
      if (message.state === "arrived") lost(scene, message);
      scene.note(flow!, "break");
      message.flow = undefined;
      if (message.state === "arrived") remove(scene, message);
      message.reject(new StoreError("NETWORK"));
      return;
    case "late": {
      scene.say(`${home.name}: the time for ${words} ends`);
      message.isLate = true;
      scene.note(flow!, "late");
      const answer = new Promise<TakeReply | undefined>((resolve) => {
        message.answerLate = resolve;
      });
      message.reject(new StoreError("TIMEOUT", undefined, { answer, hasFailed: answer.then((one) => !one) }));
      return;
    }
    case "never":
      scene.say(`${home.name}: no reply to ${words} will come`);
      endMessage(scene, message, () => message.answerLate(undefined));
      return;
    case "reply":
      scene.say(`${home.name}: the reply to ${words} comes${message.isLate ? " late" : ""}`);
      for (const { cell, key, k } of scene.askedCells(message)) {
        home.accounts[cell.index]!.told?.heard(message.id);
        if (!key) endDebts(scene, flow!, cell);
        else if (request?.flag === Flag.take && message.isLate && flow!.alone.includes(cell)) {
          const { reply } = message;
          // What the reply lets pass to the store is what was owed before.
          if (reply && !isChargedBy(scene, message, cell)) scene.later.push(() => oweAlone(scene, flow!, cell));
          else if (reply) chargedLater(flow!, cell, reply.keys[k]!, reply.nowMs);
        }
      }
      endMessage(scene, message, () => (message.isLate ? message.answerLate : message.resolve)(message.reply));
      return;
    default:
      throw new Error(`expected a choice, found ${name}`);
  }
}

function arrive(scene: Scene, message: Message): void {
  const { at, words, request, flow } = message;
  const { nowMs } = scene;
  const cells = scene.askedCells(message);
  message.state = "arrived";
  if (request) {
    const before = cells.map(({ cell }) => chargedIn(cell, nowMs));
    const reply = scene.places[at.index]!.take(request, nowMs);
    message.reply = reply;
    scene.say(`store: ${words} of ${at.home.name} arrives: ${reply.allowed ? "allowed" : "refused"}`);
    const changes = cells.map(({ cell }, k) => {
      return chargedIn(cell, nowMs).map((units, age) => units - before[k]![age]!);
    });
    const sums = changes.map((charged) => charged.reduce((sum, one) => sum + one, 0));
    for (const { cell, key, k } of cells) {
      const flag = key!.flag ?? request.flag;
      cell.slots?.arrived(request.slot ?? 0, flag, reply.allowed, nowMs);
      const charged = changes[k]!;
      at.home.accounts[cell.index]!.told?.arrived(message.id, cell.ledger.steps);
      const { once, cost, group } = key!;
      const isBeyond = !once && flag === Flag.giveBack && cell.ids?.isBeyond(message.sender);
      cell.ledger.arrived(flag, reply.allowed, reply.keys[k]!, charged, nowMs, once !== undefined || isBeyond === true);
      if (!once) continue;
      const isRefused = isRefusedIn(reply.keys[k]!);
      const isAdmitted = reply.allowed && !(isRefused && group !== ENFORCED);
      const isOver = (atMs: number) => cell.ledger.endOf(atMs) <= nowMs;
      const arrival = {
        sender: message.sender,
        id: once.id,
        flag,
        cost,
        isAdmitted,
        isRefused,
        units: sums[k]!,
        isOver,
      };
      scene.fail(cell.ids!.arrived(arrival, nowMs));
    }
    if (!flow) lost(scene, message);
  } else {
    scene.say(`store: the reset of ${at.home.name} arrives`);
    const returns = [
      ...scene.messages.flatMap((one) => (one.state === "sent" ? returnsOf(scene, one) : [])),
      ...scene.flows.flatMap((one) => inHand(scene, one)),
    ];
    for (const { cell } of cells) {
      const { limits } = policyNow(cell);
      const all = keysOfRequest({ keys: [{ key: cell.key, group: ENFORCED, cost: 1, limits }], flag: Flag.take });
      for (const key of all) cell.counts.write(key, undefined);
      cell.slots?.reset();
      const others = memoriesAt(scene, at.index, at);
      cell.ledger.reset(nowMs, others, at.memory, [
        ...returns.filter((one) => one.cell === cell),
        ...voidCharges(scene, cell),
      ]);
      if (flow) flow.resetAt[cell.index] = cell.ledger.steps;
    }
  }
  if (!flow) remove(scene, message);
}

/** What was admitted alone in one bucket has arrived in a later one. */
function chargedLater({ charged }: Flow, cell: Cell, replies: readonly LimitReply[], atMs: number): void {
  const { ledger } = cell;
  const alone = charged.find((one) => one.cell === cell && one.isAlone);
  if (alone && ledger.bucketOf(alone.atMs) !== ledger.bucketOf(atMs)) ledger.lapse(alone.units, atMs, replies);
}

function endMessage(scene: Scene, message: Message, answer: () => void): void {
  const { request, reply, at, flow, isLate, isVoid } = message;
  remove(scene, message);
  heard(scene, message);
  at.isStepped = false;
  if (!request) voidBooks(scene, at);
  const isExtended = flow?.held?.acting.includes("extend") === true;
  const isHeard = request?.flag === Flag.take && (!flow!.isTold || (isExtended && !isLate)) && !(isLate && isVoid);
  if (isHeard && reply) keptOf(flow!.places, scene.askedCells(message)[0]!.cell).heard = { request, reply };
  if (reply && request?.slot && !isLate) {
    for (const { cell, key } of scene.askedCells(message)) cell.slots?.heard(request.slot, key!.flag ?? request.flag);
  }
  const isKept = isLate && scene.mode.acts.length > 0;
  const late = { allowed: reply?.allowed, decidedAtMs: reply?.nowMs, isVoid, ...scene.seenBy(flow!) };
  scene.note(flow!, isLate ? "late reply" : "reply", isKept ? late : undefined);
  answer();
}

function remove(scene: Scene, message: Message): void {
  scene.messages = scene.messages.filter((one) => one !== message);
}

/** A reply is heard no more. */
function lost(scene: Scene, message: Message): void {
  message.isVoid = true;
  lapseIds(scene, message);
  heard(scene, message);
}

/** Nobody will undo the request of this message. */
function lapseIds(scene: Scene, { sender }: Message): void {
  for (const { ids } of scene.cells) ids?.lapse(sender);
}

/** A reply is on its way no more. */
function heard(scene: Scene, message: Message): void {
  const { reply, request, isVoid } = message;
  if (!reply?.allowed || request?.flag !== Flag.take) return;
  for (const { cell, units, atMs, replies } of chargedBy(scene, message.at, request, reply)) {
    cell.ledger.heard(replies, atMs, units);
    if (isVoid) cell.ledger.lapse(units, atMs, replies);
  }
}

interface Units {
  readonly cell: Cell;
  readonly units: number;
  /** An instant of their bucket. */
  readonly atMs: number;
}

/** The units that an admitted take has charged. */
function chargedBy(
  scene: Scene,
  at: HomePlace,
  request: TakeRequest,
  reply: TakeReply,
): (Units & { readonly replies: readonly LimitReply[] })[] {
  const asked = scene.askedCells({ at, request });
  return asked.flatMap(({ cell, key, k }) => {
    if (key!.once || isRefusedIn(reply.keys[k]!)) return [];
    return [{ cell, units: unitsIn(cell, key!.cost), atMs: reply.nowMs, replies: reply.keys[k]! }];
  });
}

/** Whether the store has charged a cell, by its reply to a take. */
function isChargedBy(scene: Scene, message: Message, cell: Cell): boolean {
  const asked = scene.askedCells(message);
  const { reply } = message;
  const k = asked.findIndex((one) => one.cell === cell);
  return reply?.allowed === true && k >= 0 && !isRefusedIn(reply.keys[k]!);
}

/** What one place has charged for a request that waits for the answer of another place. */
export function inHand(scene: Scene, { isTold, home, places }: Flow): ReturnType<typeof chargedBy> {
  if (isTold) return [];
  return places.flatMap((asks, place) =>
    asks.flatMap(({ heard, answer }) => {
      const isStores = answer !== undefined && (answer === "" || answer.source === "redis");
      if (!isStores || !heard?.reply.allowed) return [];
      return chargedBy(scene, home.places[place]!, heard.request, heard.reply);
    }),
  );
}

/** The units that a message gives back, with an instant of their bucket. */
function returnsOf(scene: Scene, message: Message): Units[] {
  const asked = scene.askedCells(message).filter(({ key }) => !key?.once);
  return unitsWith(asked, message.request, Flag.giveBack);
}

/** A reset begins or ends: the isolate forgets what it has leased, and books nothing of calls that are on their way. */
export function voidBooks(scene: Scene, at: HomePlace): void {
  const { cells, messages, nowMs } = scene;
  lapseInHand(scene, at);
  for (const { ledger, place } of cells) if (place === at.index) ledger.forget(at.memory, nowMs);
  for (const one of messages) if (one.at === at) one.isVoid = true;
}

/** Nobody gives back what a place has charged for requests that wait for the answer of another place. */
function lapseInHand(scene: Scene, { home, index }: HomePlace): void {
  for (const flow of scene.flows) {
    for (const { cell, units, atMs, replies } of flow.home === home ? inHand(scene, flow) : []) {
      if (cell.place === index) cell.ledger.lapse(units, atMs, replies);
    }
  }
}

/** Nothing of this flow runs any more. What it has sent is still on its way. */
export function dropFlow(scene: Scene, flow: Flow): void {
  for (const { cell, units, atMs, replies } of inHand(scene, flow)) cell.ledger.lapse(units, atMs, replies);
  scene.sleeps = scene.sleeps.filter((one) => one.flow !== flow);
  for (const message of scene.messages) {
    if (message.flow !== flow) continue;
    message.flow = undefined;
    if (message.state === "arrived") lost(scene, message);
  }
  scene.messages = scene.messages.filter((one) => one.flow || one.state === "sent");
}

export function messageForm(scene: Scene, message: Message, forms: Forms): string {
  const { at, words, state, isLate, isVoid, reply, request, budgetEndsAtMs } = message;
  const budget = isLate || !request ? "" : forms.instant(budgetEndsAtMs);
  const instants = [request, ...(request?.keys ?? [])].map((one) => one?.atMs && forms.instant(one.atMs));
  const ids = scene.cells.flatMap((cell) => cell.ids?.formOf(message.sender) ?? []);
  const sentAt = `${instants} ${slotForm(request?.slot ?? 0)} ${ids}`;
  const steps =
    request && reply ? scene.askedCells(message).map(({ cell, k }) => cell.ledger.stepOf(reply.keys[k])) : "";
  const told = reply ? `${forms.plain(reply)} ${steps}` : "";
  const limits = request?.keys.map(({ group, limits }) => `${group} ${forms.limits(limits.slice(0, 1))}`);
  return `${at.index} ${words} ${sentAt} ${state} ${isLate} ${isVoid} ${budget} ${told} ${limits}`;
}

/** A reset of this cell has answered: its isolate owes nothing any more, and has forgotten its own counts. */
function endDebts(scene: Scene, { home, resetAt }: Flow, cell: Cell): void {
  Object.assign(home.accounts[cell.index]!, { owed: 0, repaid: 0, debtsSent: 0, resetAt: resetAt[cell.index] });
  home.accounts[cell.index]!.told?.clear();
  cell.slots?.forgetAlone(home);
  for (const { home: own, charged } of scene.flows) {
    for (const one of charged) if (own === home && one.cell === cell) one.owedAfter = undefined;
  }
}

/** The key is named if a mode has several. */
function wordsOf({ cells }: Scene, request: TakeRequest | undefined): string {
  if (!request) return "the reset";
  const words = request.keys.map(({ key, cost, limits, once, flag = request.flag }) => {
    const what = ["a take", "a charge whatever the limit", "a return", "a look"][flag];
    const slots = limits.some(isConcurrency) ? " with its slot" : "";
    const id = once ? ` with id ${once.id}${once.isRepeat ? ", a repeat" : ""}` : "";
    return `${what} of ${cost}${id}${cells.length > 1 ? ` (${key})` : ""}${slots}`;
  });
  return words.join(" and ");
}
