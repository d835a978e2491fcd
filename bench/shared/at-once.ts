/**
 * Runs the task for each item in order, some at a time. Rejects with the first failure.
 */
export const runAtOnce = async <Item>(
  items: readonly Item[],
  atOnce: number,
  task: (item: Item) => Promise<unknown>,
): Promise<void> => {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < items.length) await task(items[next++] as Item);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
};
