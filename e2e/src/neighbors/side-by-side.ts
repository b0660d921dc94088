/** Makes so many, eight at once; answers what each one is. */
export async function sideBySide<Made>(count: number, make: (at: number) => Promise<Made>): Promise<Made[]> {
  const made: Made[] = [];
  let next = 0;
  const work = async () => {
    for (let at = next++; at < count; at = next++) made[at] = await make(at);
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return made;
}
