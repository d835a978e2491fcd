/**
 * Seeds that once failed, with what they showed. Every run of the tests replays them first.
 *
 * A seed means the same history only while plan and workload draw the same numbers; when those change, the
 * entry stays as one more seed.
 */
export const onceFailed: readonly { readonly seed: number; readonly showed: string }[] = [
  { seed: 2, showed: 'a refusal after an unknown outcome freed the number of a batch that had been applied' },
  { seed: 186, showed: 'a vote answered not_applied was counted by an earlier copy of its batch' },
  { seed: 215, showed: 'a new batch was answered with the decisions of the old one under its number' },
  { seed: 38, showed: 'a late look at the store hid a post that had been acknowledged' },
  { seed: 110, showed: 'the same, across two nodes' },
  { seed: 613, showed: 'an edit was undone by an activation that held the row from before it' },
  { seed: 1742, showed: 'the same, for an entity never activated' },
  { seed: 1895, showed: 'two nodes starting for the first time took each other for a lost ledger' },
  { seed: 1203, showed: 'a removal was undone when the store was lost during a slow look at its row' },
  { seed: 100406, showed: 'a version given twice after a roll-back ended the process' },
  { seed: 500667, showed: 'a store fell back and caught up: another node kept what had been lost' },
  { seed: 504386, showed: 'the same, for votes' },
  { seed: 509731, showed: 'the same, with two roll-backs' },
  { seed: 703111, showed: 'an edit was undone: its row was read before the store was lost, and used after' },
  { seed: 900957, showed: 'the same, under one generation: nobody else missed what was lost' },
  { seed: 930715, showed: 'a removal was lost with its node: votes on the listing after it never came back' },
  { seed: 1654, showed: 'a poll that failed lost the version it began with, and a change stayed unseen' },
  { seed: 3000157, showed: 'a vote counted in what the store then lost was answered not_applied' },
  { seed: 5000066, showed: 'a reader joined a slow look at the store and saw less than its node had shown' },
  { seed: 5011145, showed: 'the same, after a poll had found that others changed the shard' },
  { seed: 6006634, showed: 'of two looks at the store at once the older one stayed' },
  {
    seed: 7007268,
    showed: 'the store fell back twice, at last to a time that had the first copy of what was resent',
  },
  { seed: 101250, showed: 'a flush from before a loss came to SQL after the healing' },
  { seed: 523277, showed: 'a clock jumped back behind a reset: two votes of a user in one millisecond' },
  { seed: 563787, showed: 'the same: the check took them for one vote' },
  { seed: 573457, showed: 'what the store lost while a shard recovered from a loss before was not resent' },
  { seed: 537744, showed: 'the store fell back a second time, and what was found lost counted twice' },
  { seed: 568533, showed: 'the same, after a node that started had emptied the shard in between' },
  { seed: 706997, showed: 'a shard lost its new generation, too, and a start emptied it with a new vote' },
  { seed: 762579, showed: 'a first batch without an answer counted again in an emptied store' },
  { seed: 755133, showed: 'the check judged what a node shows 194 ms after a change' },
];
