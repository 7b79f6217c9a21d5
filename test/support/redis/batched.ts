// Calls that are made at once become one: a request of its own for each costs ten times what the call costs.

interface Waiting<C, A> {
  readonly call: C;
  readonly answered: (answer: Promise<A>) => void;
}

/** @param send makes many calls, and gives an answer for each. */
export function batched<C, A>(send: (calls: readonly C[]) => Promise<readonly A[]>): (call: C) => Promise<A> {
  let waiting: Waiting<C, A>[] = [];
  return (call) =>
    new Promise((answered) => {
      waiting.push({ call, answered });
      if (waiting.length > 1) return;
      setImmediate(() => {
        const sent = waiting;
        waiting = [];
        const answers = send(sent.map(({ call }) => call));
        for (const [i, one] of sent.entries()) one.answered(answers.then((all) => all[i]!));
      });
    });
}

/** @param fetch sends the commands as pipelines of the REST service. */
export function batchedFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  const ask = batched(async (sent: readonly { readonly url: string; readonly init: RequestInit }[]) => {
    const [{ url, init }] = sent as [(typeof sent)[number]];
    const body = `[${sent.map(({ init }) => init.body).join()}]`;
    const answer = await fetch(`${url}/pipeline`, { method: "POST", headers: init.headers!, body });
    if (!answer.ok) throw new Error(`expected an answer to ${sent.length} commands, found status ${answer.status}`);
    const results = (await answer.json()) as { readonly error?: string }[];
    return results.map((result) => Response.json(result, { status: result.error === undefined ? 200 : 400 }));
  });
  return (url, init = {}) => ask({ url: String(url), init });
}
