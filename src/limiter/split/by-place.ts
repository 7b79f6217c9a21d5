/** By position of a place: what lies there. (Node 20 has no `Map.groupBy`.) */
export function byPlace<T>(all: readonly T[], placeOf: (one: T) => number): [place: number, own: T[]][] {
  const places = new Map<number, T[]>();
  for (const one of all) {
    const place = placeOf(one);
    const own = places.get(place);
    if (own) own.push(one);
    else places.set(place, [one]);
  }
  return [...places];
}
