/** Groups values by `groupOf`, in the order of each group's first value. (Node 20 has no `Map.groupBy`.) */
export function groupBy<T, K>(all: readonly T[], groupOf: (one: T) => K): [group: K, own: T[]][] {
  const groups = new Map<K, T[]>();
  for (const one of all) {
    const group = groupOf(one);
    const own = groups.get(group);
    if (own) own.push(one);
    else groups.set(group, [one]);
  }
  return [...groups];
}
