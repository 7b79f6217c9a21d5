// `fetch` for tests that ask Redis ten thousand times: commands that are sent at once are one request to the REST
// service, a pipeline. A request of its own for each command costs ten times what the command costs.

interface Waiting {
  readonly command: string;
  readonly answered: (answer: Promise<Response>) => void;
}

/** @param fetch sends the pipelines. */
export function batchedFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  let waiting: Waiting[] = [];

  async function send(url: string, init: RequestInit, sent: readonly Waiting[]): Promise<Response[]> {
    const body = `[${sent.map(({ command }) => command).join()}]`;
    const answer = await fetch(`${url}/pipeline`, { method: "POST", headers: init.headers!, body });
    if (!answer.ok) throw new Error(`expected an answer to ${sent.length} commands, found status ${answer.status}`);
    const results = (await answer.json()) as { readonly error?: string }[];
    return results.map((result) => Response.json(result, { status: result.error === undefined ? 200 : 400 }));
  }

  return (url, init = {}) =>
    new Promise((answered) => {
      waiting.push({ command: init.body as string, answered });
      if (waiting.length > 1) return;
      setImmediate(() => {
        const sent = waiting;
        waiting = [];
        const answers = send(String(url), init, sent);
        for (const [i, one] of sent.entries()) one.answered(answers.then((all) => all[i]!));
      });
    });
}
