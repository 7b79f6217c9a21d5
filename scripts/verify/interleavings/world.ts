/**
 * One execution: isolates with the real flows of src/kernel/place, one store for each place with the real core,
 * messages in between, and a clock that moves only when it is told to. Nothing happens by itself: each step is a
 * choice.
 */

import { Forms, slotForm } from "./canonical.ts";
import { chargedIn, idsIn, slotsIn } from "./cells.ts";
import { act, actChoices } from "./held.ts";
import { newHome } from "./home.ts";
import { leaseWish } from "./lease-choices.ts";
import { stepForm } from "./ledger.ts";
import type { Mode } from "./modes.ts";
import { deliver, dropFlow, messageChoices, messageForm } from "./network.ts";
import type { Choice, FlowPlace, Home } from "./parts.ts";
import { beginRequest, beginReset } from "./request.ts";
import { memoriesAt, Scene } from "./scene.ts";
import { mayPass, pass, settled } from "./time.ts";
import { bookTold, checkTold } from "./told-checks.ts";

/** A clock steps back by this. */
const STEP_MS = 40;

/** Whatever the program writes to the console is a fault: a shortcut has thrown. */
let written: string | undefined;
console.error = (...all: unknown[]) => {
  written ??= all.map((one) => (one instanceof Error ? (one.stack ?? one.message) : String(one))).join(" ");
};

export class World {
  readonly scene: Scene;

  constructor(mode: Mode) {
    this.scene = new Scene(mode);
    this.scene.homes = ["A", "B", "C"].slice(0, mode.isolates).map((name) => newHome(this.scene, name));
    leaseWish.units = 0;
    written = undefined;
  }

  get broken(): string | undefined {
    return this.scene.broken;
  }

  get story(): readonly string[] {
    return this.scene.story;
  }

  /** All that may happen now, in a fixed order. */
  choices(): Choice[] {
    const { scene } = this;
    const { left, mode, homes, flows } = scene;
    const all = messageChoices(scene);
    for (const { id, wakesAtMs } of scene.sleeps) if (wakesAtMs <= scene.nowMs) all.push(["wake", id]);
    if (left.ended > 0) for (const { id } of flows) all.push(["end", id]);
    for (const [h, home] of homes.entries()) {
      const { name } = home;
      // Isolates that know nothing yet are alike: the first of them.
      const isFresh = isNew(home) && !flows.some((flow) => flow.home === home);
      if (isFresh && homes.slice(0, h).some((one) => isNew(one) && one.offsetMs === home.offsetMs)) continue;
      if (left.requests > 0) {
        for (const cost of mode.costs) {
          for (const wish of mode.wishes) {
            for (const asked of mode.asked.keys()) {
              for (const id of mode.ids) {
                if (!mode.chances) all.push(["request", name, cost, wish, asked, ...(id > 0 ? [id] : [])]);
                for (const chance of mode.chances ?? []) all.push(["request", name, cost, wish, asked, id, chance]);
              }
            }
          }
        }
      }
      if (left.resets > 0) all.push(["reset", name]);
      if (left.deaths > 0 && !isNew(home)) all.push(["die", name]);
      if (left.steps > 0 && !isNew(home)) all.push(["step", name]);
    }
    if (left.changes > 0) {
      for (const { limit, rules, index } of scene.cells) {
        all.push(["change", limit === rules.limit ? rules.other : rules.limit, index]);
      }
    }
    all.push(...actChoices(scene));
    if (left.passes > 0 && mayPass(scene)) all.push(["pass"]);
    return all;
  }

  async run(choices: readonly Choice[]): Promise<void> {
    for (const choice of choices) {
      await this.apply(choice);
      if (this.broken) return;
    }
  }

  async apply(choice: Choice): Promise<void> {
    const { scene } = this;
    this.#do(choice);
    await settled();
    for (const book of scene.later.splice(0)) book();
    scene.flows = scene.flows.filter((flow) => !flow.isTold || scene.isBusy(flow));
    bookTold(scene);
    if (written) scene.fail(`the isolate's own code threw: ${written}`);
    for (const cell of scene.cells) scene.fail(cell.ids?.check(scene, idsIn(cell, scene.mode.ids)));
    if (scene.isEnding) return;
    checkTold(scene);
    const isQuiet = scene.messages.length === 0 && scene.flows.every(({ isTold }) => isTold);
    for (const cell of scene.cells) {
      const charged = chargedIn(cell, scene.nowMs);
      scene.fail(cell.ledger.check(scene.nowMs, memoriesAt(scene, cell.place), charged, isQuiet));
      scene.fail(cell.slots?.check(scene, slotsIn(cell), isQuiet));
    }
  }

  #do([name, on, ...more]: Choice): void {
    const { scene } = this;
    const { left } = scene;
    switch (name) {
      case "request": {
        left.requests--;
        const [cost, wish, asked = 0, id, chance = 0.5] = more as number[];
        leaseWish.units = wish!;
        scene.chance = chance;
        const cells = scene.mode.asked[asked]!.map((index) => scene.cells[index]!);
        beginRequest(scene, this.#named(on), cost!, cells, id);
        return;
      }
      case "reset":
        left.resets--;
        beginReset(scene, this.#named(on));
        return;
      case "die":
        left.deaths--;
        this.#die(this.#named(on));
        return;
      case "step": {
        left.steps--;
        const home = this.#named(on);
        home.offsetMs -= STEP_MS;
        for (const place of home.places) place.isStepped = true;
        scene.say(`${on}: the clock is set back by ${STEP_MS} ms`);
        return;
      }
      case "change": {
        left.changes--;
        const cell = scene.cells[Number(more[0] ?? 0)]!;
        cell.limit = Number(on);
        cell.ledger.changed(cell.limit, scene.nowMs);
        scene.say(`the limit${scene.cells.length > 1 ? ` ${cell.key}` : ""} is now ${on}`);
        return;
      }
      case "end": {
        left.ended--;
        const flow = scene.flows.find(({ id }) => id === on)!;
        scene.say(`${flow.home.name}: the runtime ends ${flow.name}`);
        // Units that were reserved for it lapse.
        for (const { ledger, place } of scene.cells) ledger.forget(flow.home.places[place]!.memory, scene.nowMs);
        dropFlow(scene, flow);
        flow.isForgotten = true;
        scene.flows = scene.flows.filter((one) => one !== flow);
        return;
      }
      case "act":
        act(scene, scene.flows.find(({ id }) => id === on)!, String(more[0]));
        return;
      case "pass":
        left.passes--;
        pass(scene);
        return;
      case "wake": {
        const sleep = scene.sleeps.find(({ id }) => id === on)!;
        scene.sleeps = scene.sleeps.filter((one) => one !== sleep);
        scene.say(`${sleep.flow.home.name}: ${sleep.flow.name} wakes`);
        scene.note(sleep.flow, "wake");
        sleep.wake();
        return;
      }
      default:
        deliver(scene, name, scene.messages.find(({ id }) => id === on)!);
    }
  }

  #die(home: Home): void {
    const { scene } = this;
    scene.say(`${home.name} dies; a new isolate takes its place`);
    for (const { ledger, place } of scene.cells) ledger.died(home.places[place]!.memory, scene.nowMs);
    for (const flow of scene.flows) if (flow.home === home) dropFlow(scene, flow);
    scene.flows = scene.flows.filter((flow) => flow.home !== home);
    scene.homes[scene.homes.indexOf(home)] = newHome(scene, home.name);
  }

  /** What the state is, see canonical.ts. */
  form(): string {
    const { scene } = this;
    const forms = new Forms(scene.nowMs);
    const homes = scene.homes.map((home) => this.#homeForm(home, forms));
    const orphans = scene.messages.filter(({ flow }) => !flow).map((one) => messageForm(scene, one, forms));
    const all = [
      ...scene.cells.map((cell) => {
        const { ledger, counts, key, limit, slots, ids } = cell;
        const held = slots?.form(scene.nowMs, slotsIn(cell), forms) ?? ids?.form(forms) ?? "";
        return `${ledger.form(scene.nowMs)} ${forms.plain(counts.read(key) ?? [])} ${limit} ${held}`;
      }),
      JSON.stringify(scene.left),
      `${scene.nowMs % scene.windowMs} ${leaseWish.units} ${scene.chance}`,
      ...orphans.sort(),
      ...homes,
    ];
    const renamed = renameSteps(all);
    return [...renamed.slice(0, -homes.length), ...renamed.slice(-homes.length).sort()].join("\n");
  }

  #homeForm(home: Home, forms: Forms): string {
    const { scene } = this;
    const flows = scene.flows.filter((flow) => flow.home === home);
    const messages = scene.messages.filter(({ at }) => at.home === home);
    const isTelling = home.accounts.some(({ told }) => told);
    const ops = flows.map((flow) => [
      flow.name,
      ...flow.resetAt.map((step, c) => stepForm(c, step)),
      String(flow.isTold),
      ...flow.alone.map(({ index }) => String(index)),
      flow.trace,
      ...flow.places.map((asks, place) => asks.map((kept) => this.#keptForm(kept, place, forms))),
      ...scene.cells.flatMap(({ ids }) => (ids ? [ids.formOf(flow)] : [])),
      `${slotForm(flow.slot)} ${flow.held !== undefined} ${flow.isOver} ${flow.isReset} ${flow.held?.settlesWith}`,
      ...(scene.mode.acts.length > 0 ? flow.charged : []).map(({ cell, units, atMs, isAlone, isReset, owedAfter }) => {
        return `${cell.index} ${units} ${forms.instant(atMs)} ${isAlone} ${isReset} ${owedAfter === undefined ? "" : home.accounts[cell.index]!.debtsSent - owedAfter}`;
      }),
      ...messages.flatMap((one, m) => {
        return one.flow === flow ? [[messageForm(scene, one, forms), one.sent, isTelling ? m : 0]] : [];
      }),
      ...scene.sleeps
        .filter((one) => one.flow === flow)
        .map((one) => [one.place, forms.instant(one.wakesAtMs), one.begun]),
    ]);
    const accounts = home.accounts.map(({ owed, repaid, owesSinceMs, resetAt, told }, c) => {
      const { place, key, ledger } = scene.cells[c]!;
      const heard = ledger.stepOf(home.places[place]!.memory.records.get(key)?.replies);
      const shared = told?.form(forms, messages, (step) => stepForm(c, step)) ?? "";
      return `${owed} ${repaid} ${forms.instant(owesSinceMs)} ${heard} ${stepForm(c, resetAt)} ${shared}`;
    });
    const memories = home.places.map(({ memory }) => memory);
    const isStepped = home.places.map((place) => place.isStepped);
    return `${forms.isolate(memories, ops)} ${home.offsetMs} ${isStepped} ${accounts}`;
  }

  #keptForm({ heard, answer, alone, bases, isNotRun = false }: FlowPlace, place: number, forms: Forms): unknown[] {
    const { scene } = this;
    const steps = heard?.request.keys.map(({ key }, k) => scene.cell(place, key).ledger.stepOf(heard.reply.keys[k]));
    const known = [...(bases ?? [])].map(([key, { step = 0, sinceMs }]) => {
      return `${stepForm(scene.cell(place, key).index, step)} ${forms.instant(sinceMs)}`;
    });
    const own = alone && `${alone.outcome} ${forms.instant(alone.atMs)}`;
    return [steps, heard?.reply, answer && [answer.source, answer.reply], own, known, isNotRun];
  }

  #named(name: string | number | undefined): Home {
    return this.scene.homes.find((home) => home.name === name)!;
  }
}

function isNew({ places }: Home): boolean {
  return places.every(({ memory }) => memory.last === 0);
}

/** Only the order of the steps of a cell, and of the slots, means anything. */
function renameSteps(forms: readonly string[]): string[] {
  const steps = new Map<string, Set<number>>();
  for (const form of forms) {
    for (const [, cell, step] of form.matchAll(/@(\w+):(\d+)@/g)) {
      const known = steps.get(cell!) ?? new Set();
      steps.set(cell!, known.add(Number(step)));
    }
  }
  const ranks = new Map<string, number>();
  for (const [cell, all] of steps) {
    for (const [rank, step] of [...all].sort((a, b) => a - b).entries()) ranks.set(`${cell}:${step}`, rank);
  }
  return forms.map((one) => one.replace(/@(\w+:\d+)@/g, (_, step: string) => `s${ranks.get(step)}`));
}
