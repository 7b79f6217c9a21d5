/** Our own error answers, as problem details (RFC 9457). */

export interface Problem {
  /** A URI that names the kind of problem. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** For people. */
  readonly detail: string;
  /** Extension members. */
  readonly [member: string]: unknown;
}

/** Kinds of problem; the first two are registered with IANA by draft-ietf-httpapi-ratelimit-headers. */
export const ProblemType = {
  quotaExceeded: "https://iana.org/assignments/http-problem-types#quota-exceeded",
  temporaryReducedCapacity: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
  misconfigured: "urn:headgate:problem:misconfigured",
  /** Says no more than the status does (RFC 9457, section 4.2.1). */
  blank: "about:blank",
} as const;

/** How clients are told that the same request can never succeed; the openai and anthropic clients heed it. */
export const SHOULD_RETRY = "X-Should-Retry";

export interface ProblemOptions {
  /** Where clients find more: named in `Link`, and a link on the page. */
  readonly helpPath?: string | undefined;
  /** Pages of any origin may read the answer: no layer has seen it that could have decided. Default true. */
  readonly anyOrigin?: boolean | undefined;
}

/**
 * The problem as `application/problem+json`, or as a small page for a browser that asked for one.
 *
 * @param request what is answered: HEAD gets no body. @param headers added to ours.
 */
export function problemResponse(
  request: Request,
  problem: Problem,
  headers: Record<string, string> = {},
  { helpPath, anyOrigin = true }: ProblemOptions = {},
): Response {
  const html = prefersHtml(request);
  const body = html ? problemPage(problem, helpPath) : JSON.stringify(problem);
  const origin = request.headers.get("Origin");
  return new Response(request.method === "HEAD" ? null : body, {
    status: problem.status,
    headers: {
      "Content-Type": html ? "text/html; charset=utf-8" : "application/problem+json",
      ...(html && { "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'" }),
      "Cache-Control": "no-store",
      Vary: origin === null ? "Accept" : "Accept, Origin",
      ...(origin !== null && {
        ...(anyOrigin && { "Access-Control-Allow-Origin": origin }),
        "Access-Control-Expose-Headers": `Retry-After, ${SHOULD_RETRY}`,
      }),
      ...(helpPath !== undefined && { Link: `<${helpPath}>; rel="help"` }),
      ...headers,
    },
  });
}

/** Characters; a browser's has about 150. To take 64 KiB apart takes several ms. */
const LONGEST_ACCEPT = 1_024;

/** Only a client that names HTML, and no JSON that it likes as much, is a browser: curl's and fetch's `*` are not. */
export function prefersHtml({ headers }: Request): boolean {
  const accept = headers.get("Accept") ?? "";
  if (accept.length > LONGEST_ACCEPT || !/html/i.test(accept)) return false;
  const quality = (types: readonly string[]) => {
    const ranges = accept
      .toLowerCase()
      .split(",")
      .map((range) => range.split(";").map((part) => part.trim()));
    const qualities = ranges
      .filter(([type = ""]) => types.includes(type))
      .map(([, ...parameters]) => Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1));
    return Math.max(0, ...qualities.filter(Number.isFinite));
  };
  return quality(["text/html"]) > quality(["application/problem+json", "application/json"]);
}

function problemPage({ status, title, detail }: Problem, helpPath: string | undefined): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${status} ${escapeHtml(title)}</title>
<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:15vh auto;max-width:36rem;padding:0 1rem}</style>
<h1>${status} ${escapeHtml(title)}</h1>
<p>${escapeHtml(detail)}</p>
${
  helpPath === undefined
    ? ""
    : `<p><a href="${escapeHtml(helpPath)}">Rate limits, and what you have left</a></p>
`
}</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
