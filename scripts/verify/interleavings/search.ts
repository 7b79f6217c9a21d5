/** Breadth first over all choices: the first counterexample is a shortest one. */

import { hash } from "node:crypto";
import { end } from "./ending.ts";
import type { Mode } from "./modes.ts";
import type { Choice } from "./parts.ts";
import { World } from "./world.ts";

export interface Found {
  readonly states: number;
  readonly executions: number;
  /** The longest list of choices. */
  readonly depth: number;
  /** undefined: every state is as promised. */
  readonly wrong: Counterexample | undefined;
}

export interface Counterexample {
  readonly what: string;
  readonly story: readonly string[];
  readonly choices: readonly Choice[];
}

/** A list of choices, without copies of its beginning. */
interface Path {
  readonly before: Path | undefined;
  readonly choice: Choice;
}

interface Options {
  /** Called now and then. */
  readonly onProgress?: (states: number, executions: number, depth: number) => void;
  /** Of so many merged paths one is tried: whether it goes on as the path with which it was merged. 0: none. */
  readonly mergeTest?: number;
}

export async function explore(mode: Mode, { onProgress, mergeTest = 0 }: Options = {}): Promise<Found> {
  const seen = new Map<string, Path | undefined>();
  let [executions, depth, merged] = [0, 0, 0];
  const found = (wrong?: Counterexample): Found => ({ states: seen.size, executions, depth, wrong });

  async function run(choices: readonly Choice[]): Promise<World> {
    executions++;
    const world = new World(mode);
    await world.run(choices);
    return world;
  }

  const first = await run([]);
  seen.set(digest(first.form()), undefined);
  let level: { readonly path: Path | undefined; readonly choices: readonly Choice[] }[] = [
    { path: undefined, choices: first.choices() },
  ];
  while (level.length > 0) {
    const next: typeof level = [];
    for (const { path, choices } of level) {
      const begun = listOf(path);
      for (const choice of choices) {
        const all = [...begun, choice];
        const world = await run(all);
        if (world.broken) return found(counterexample(world, all));
        const form = digest(world.form());
        if (seen.has(form)) {
          if (mergeTest > 0 && ++merged % mergeTest === 0) {
            const wrong = await goesOnDifferently(world.choices(), all, listOf(seen.get(form)));
            if (wrong) return found(wrong);
          }
          continue;
        }
        const after = { before: path, choice };
        seen.set(form, after);
        next.push({ path: after, choices: world.choices() });
        await end(world);
        if (world.broken) return found(counterexample(world, all));
        if (seen.size % 500 === 0) onProgress?.(seen.size, executions, depth + 1);
      }
    }
    if (next.length > 0) depth++;
    level = next;
  }
  return found();

  /** Two paths to states of one form: the same choices must lead to states of one form again. */
  async function goesOnDifferently(
    choices: readonly Choice[],
    one: readonly Choice[],
    other: readonly Choice[],
  ): Promise<Counterexample | undefined> {
    const after = async (path: readonly Choice[], more: readonly Choice[]) => {
      const forms: string[] = [];
      for (const choice of more) forms.push((await run([...path, choice])).form());
      return forms.sort();
    };
    const others = (await run(other)).choices();
    const [mine, theirs] = [await after(one, choices), await after(other, others)];
    const differs = mine.find((form, f) => form !== theirs[f]);
    if (differs === undefined && mine.length === theirs.length) return undefined;
    const story = [
      "one path:",
      ...(await run(one)).story,
      "the other path:",
      ...(await run(other)).story,
      `one state: ${differs}`,
      `the other: ${theirs[mine.indexOf(differs!)]}`,
    ];
    return { what: "two states were taken for one", story, choices: one };
  }
}

function counterexample({ broken, story }: World, choices: readonly Choice[]): Counterexample {
  return { what: broken!, story, choices };
}

function listOf(path: Path | undefined): Choice[] {
  const list: Choice[] = [];
  for (let one = path; one; one = one.before) list.push(one.choice);
  return list.reverse();
}

/** 128 bits of a form: two different forms with one digest are less likely than a fault of the machine. */
function digest(form: string): string {
  return hash("sha256", form, "binary").slice(0, 16);
}
