/**
 * How the site's search ranks pages: the options of MiniSearch. VitePress sends these functions to the browser as text:
 * they name nothing outside of themselves.
 */
export const RANKING = {
  /** Words of a question that say nothing about its subject. */
  processTerm: (term: string) =>
    /^(?:an?|and|are|as|at|be|by|do|for|from|how|i|if|it|my|of|on|or|the|to|we|when|with|you)$/i.test(term)
      ? null
      : term.toLowerCase(),
  /** Every page here is about rate limits: the other words tell pages apart. */
  boostTerm: (term: string) => (/^(?:rate|limit)/i.test(term) ? 0.2 : 1),
  /** Who asks a question wants an answer that runs, before the reference. */
  boostDocument: (id: string, term: string) => {
    if (/\/(?:SECURITY|CHANGELOG)/.test(id)) return 0.4;
    // A guide for moving is for those who name the library that they have.
    if (/\/migrate\/./.test(id)) {
      return /^(?:express|rate|limit|hono|upstash|flexible|migrat|mov|switch|replac|option|other)/.test(term)
        ? 2.5
        : 0.3;
    }
    // The index repeats the titles of all recipes.
    if (/\/recipes\/(?:#|$)/.test(id)) return 0.5;
    return /\/recipes\//.test(id) ? 2.5 : 1;
  },
  /** Two letters begin too many words. */
  prefix: (term: string) => term.length > 2,
  fuzzy: (term: string) => (term.length > 4 ? 0.2 : false),
};
