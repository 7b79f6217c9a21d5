/**
 * What a program makes once from its `env`. On Workers every request brings the same object. Adapters for other
 * platforms make a new object for each request: what was made from an equal one is used again.
 */

export type Member = readonly [name: string, value: unknown];

/** A program has one set of values, and its tests have some more. */
const MAX_SETS = 16;

/**
 * A function that calls `make` once for each set of members, however many objects have them. A known object is found
 * without reading its members. Requests that run keep what they got: it goes on to work for them.
 *
 * The last 16 sets are kept, so that memory is bounded. What `make` throws is thrown on, and nothing is kept.
 *
 * @param readMembers what decides whether two objects are equal. Order does not matter.
 * @param what the beginning of a warning, which comes once, with the 17th set: a value probably differs with each
 * request, and then each request has a limiter of its own. Absent: no warning.
 */
export function onceForEqual<Env extends object, Made extends object>(
  readMembers: (env: Env) => readonly Member[],
  make: (env: Env) => Made,
  what?: string,
): (env: Env) => Made {
  const ofObject = new WeakMap<Env, Made>();
  /** The newest is the first. */
  const sets: { readonly values: ReadonlyMap<string, unknown>; readonly made: Made }[] = [];
  let hasWarned = what === undefined;

  return (env) => {
    const known = ofObject.get(env);
    if (known) return known;
    const members = readMembers(env);
    const differing = (values: ReadonlyMap<string, unknown>) =>
      members.find(([name, value]) => !values.has(name) || !Object.is(values.get(name), value));
    const equal = sets.find(({ values }) => values.size === members.length && !differing(values));
    if (equal) return equal.made;

    const made = make(env);
    // Only this object: with a new object for each request the table would grow until the next garbage collection.
    ofObject.set(env, made);
    const [name = "set of names"] = (sets[0] && differing(sets[0].values)) ?? [];
    sets.unshift({ values: new Map(members), made });
    if (sets.length > MAX_SETS) {
      sets.pop();
      if (!hasWarned) {
        console.warn(
          `headgate: ${what}: env has had ${MAX_SETS + 1} sets of values, the last one with another ${name}, and each set has a limiter of its own. Keep what differs between requests out of env`,
        );
      }
      hasWarned = true;
    }
    return made;
  };
}

/** An object's own members. A getter is not one: it may throw, or give another value each time. */
export function membersOf(env: object): Member[] {
  const members: Member[] = [];
  for (const name of Object.keys(env)) {
    const own = Object.getOwnPropertyDescriptor(env, name);
    if (own && "value" in own) members.push([name, own.value]);
  }
  return members;
}

/** The variables: adapters make objects anew with each request, but not these. */
export function textsAndNumbersOf(env: object): Member[] {
  return membersOf(env).filter(([, value]) => typeof value === "string" || typeof value === "number");
}

/** The variables of the process, on Node, Bun and Deno. Undefined: there is no process. */
export function processEnv(): object | undefined {
  return (globalThis as { readonly process?: { readonly env?: object } }).process?.env;
}

/** Whether this runs on Cloudflare Workers. What a request says cannot tell: elsewhere a client may write it. */
export function isWorkers(): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: unknown } };
  return navigator?.userAgent === "Cloudflare-Workers";
}
