/** What the page and its Markdown say alike, whatever the configuration is. */

/** A part of a field, the field that it belongs to, and what it means. */
export const FIELDS: readonly (readonly [part: string, field: string, meaning: string])[] = [
  ["q, w", "RateLimit-Policy", "The quota in units, and the seconds in which all of it comes back."],
  [
    "r, t",
    "RateLimit",
    "The units left, and the seconds until there are more; no t when there is nothing to wait for.",
  ],
  [
    "X-RateLimit-…",
    "X-RateLimit-Limit",
    "The same of the limit with the fewest units left. Reset: when more come, in epoch seconds.",
  ],
];

/** How to send requests that wait when they are told to. @param url of a request. */
export function samples(url: string): readonly (readonly [language: string, text: string])[] {
  // In this form it has no quote, backslash or space, so that nobody copies a command that does something else.
  const href = new URL(url).href.replaceAll("'", "%27");
  return [
    ["curl", `curl -i --retry 3 '${href}'`],
    [
      "JavaScript",
      `import { fetchWithBackoff } from "headgate/client";\n\nconst response = await fetchWithBackoff("${href}");`,
    ],
    [
      "Python",
      `import random, time, requests\n\nfor _ in range(5):\n    response = requests.get("${href}")\n    if response.status_code != 429 or "Retry-After" not in response.headers:\n        break\n    time.sleep(int(response.headers["Retry-After"]) + random.random())`,
    ],
  ];
}
