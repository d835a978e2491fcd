/**
 * The vocabulary of the demo directory: invented products, people and communities. Data only.
 *
 * A product name is a common noun plus what the product does; no real company or person is meant.
 */
export interface Theme {
  readonly role: string;
  readonly tags: readonly string[];
  /** Follows "A bot that …" or stands alone; with the role's tags it makes shorts of 30 to 150 characters. */
  readonly does: string;
  readonly details: readonly string[];
}

export const themes: readonly Theme[] = [
  {
    role: 'Music',
    tags: ['music', 'entertainment', 'audio'],
    does: 'plays quiet music together, with queues that everybody may vote on',
    details: [
      'Queues survive a restart and can be saved as named lists.',
      'A vote of the listeners skips a song; nobody needs a special role.',
    ],
  },
  {
    role: 'Guard',
    tags: ['moderation', 'utility', 'logging'],
    does: 'keeps conversations friendly with clear warnings and few surprises',
    details: [
      'Every action is written to a log channel with its reason.',
      'Warnings fade after a time that the moderators choose.',
    ],
  },
  {
    role: 'Polls',
    tags: ['polls', 'utility', 'community'],
    does: 'asks questions, counts answers and draws the result as a small chart',
    details: [
      'Polls can be open or secret, and close by themselves.',
      'Results can be exported as a plain table.',
    ],
  },
  {
    role: 'Quiz',
    tags: ['trivia', 'games', 'fun'],
    does: 'runs quiz evenings with categories, teams and a fair countdown',
    details: [
      'More than four thousand questions in twelve categories come with it.',
      'Communities can add their own questions and keep them private.',
    ],
  },
  {
    role: 'Market',
    tags: ['economy', 'games', 'roleplay'],
    does: 'gives a community its own coins, shops and friendly auctions',
    details: [
      'Prices follow supply, so hoarding never pays for long.',
      'All balances can be reset by season without losing the records.',
    ],
  },
  {
    role: 'Levels',
    tags: ['leveling', 'community', 'fun'],
    does: 'thanks active members with levels, badges and a yearly review',
    details: [
      'Spam earns nothing: only spaced messages count.',
      'Roles for levels are given at once and taken back politely.',
    ],
  },
  {
    role: 'Welcome',
    tags: ['welcome', 'utility', 'customizable'],
    does: 'greets newcomers, shows them around and hands out their first roles',
    details: [
      'Greetings can differ by invitation, language and time of day.',
      'Newcomers who stay silent get one gentle reminder.',
    ],
  },
  {
    role: 'Tickets',
    tags: ['support', 'utility', 'customizable'],
    does: 'turns questions into tidy tickets and reminds helpers of open ones',
    details: [
      'Each ticket has its own thread and a transcript at the end.',
      'Waiting times are measured and shown every week.',
    ],
  },
  {
    role: 'Weather',
    tags: ['weather', 'utility', 'information'],
    does: 'tells the weather in plain words and warns before storms arrive',
    details: [
      'Places are remembered per member, never shown to others.',
      'Warnings can be limited to what really matters to you.',
    ],
  },
  {
    role: 'Translate',
    tags: ['translation', 'languages', 'utility'],
    does: 'translates messages on request, so that everybody can join in',
    details: [
      'A reaction with a flag is enough to ask for a translation.',
      'Glossaries keep names and terms of a community intact.',
    ],
  },
  {
    role: 'Reminders',
    tags: ['reminders', 'productivity', 'utility'],
    does: 'remembers birthdays, meetings and the laundry, in every time zone',
    details: [
      'Dates are understood as people write them.',
      'Shared calendars can be followed without an account.',
    ],
  },
  {
    role: 'Dice',
    tags: ['roleplay', 'games', 'tabletop'],
    does: 'rolls dice for long evenings of storytelling, and keeps the sheets',
    details: [
      'Formulas can be named, nested and shared with the table.',
      'A secret roll goes only to the one who leads the game.',
    ],
  },
  {
    role: 'Garden',
    tags: ['games', 'fun', 'idle'],
    does: 'lets a community grow a garden together, one watering a day',
    details: [
      'Plants have seasons, moods and quite a lot of patience.',
      'Neighbouring communities can trade seeds.',
    ],
  },
  {
    role: 'Stats',
    tags: ['statistics', 'utility', 'dashboard'],
    does: 'shows how a community grows, with charts that need no explanation',
    details: [
      'Numbers are counted per day and never per person.',
      'Charts can be pinned and renew themselves.',
    ],
  },
  {
    role: 'Gallery',
    tags: ['images', 'art', 'community'],
    does: 'collects the best pictures and asks artists before it shows them',
    details: [
      'Artists stay owners and can withdraw a picture at any time.',
      'A monthly exhibition is put together by votes.',
    ],
  },
  {
    role: 'Study',
    tags: ['education', 'productivity', 'timer'],
    does: 'keeps study groups going with timers, quiet rooms and small goals',
    details: [
      'Breaks are announced, and skipped ones are noticed.',
      'Goals stay private unless they are shared on purpose.',
    ],
  },
];

/** Splits texts into words, because lines of words are easier to read than a list of quoted words. */
const splitWords = (...texts: readonly string[]): readonly string[] => texts.join(' ').split(' ');

export const nouns = splitWords(
  'Lantern Pebble Juniper Marble Thistle Cinder Harbour Maple Velvet Copper Willow Ember Meadow',
  'Sparrow Cobalt Acorn Clover Drift Fable Glacier Hazel Indigo Kettle Linen Mosaic Nimbus Orchard',
  'Paper Quartz River Saffron Tundra Umber Violet Walnut Yarrow Amber Bramble Canyon Dune',
);
export const adjectives = splitWords(
  'Brisk Quiet Sunny Gentle Clever Swift Mellow Bright Humble Jolly Lucky Noble Patient Rapid Silver',
  'Tidy Warm Witty Zesty Calm',
);
export const animals = splitWords(
  'Heron Fox Otter Badger Lynx Wren Marten Hare Robin Finch Beaver Stoat Owl Newt Crane Mole Seal Moth',
  'Toad Ibex',
);
export const gatherings: readonly string[] = [
  'Reading Room',
  'Workshop',
  'Tavern',
  'Observatory',
  'Kitchen',
  'Studio',
  'Arcade',
  'Campfire',
  'Library',
  'Greenhouse',
];

export const collectives: readonly string[] = ['Collective', 'Works', 'Crew', 'Guild', 'Makers', 'House'];

export const libraries = splitWords('typescript python rust go java kotlin elixir csharp');

export const packNames: readonly string[] = [
  'Starter Kit',
  'Game Night',
  'Quiet Helpers',
  'Study Corner',
  'New Community',
  'Art Friends',
  'Fair Moderation',
  'Long Evenings',
  'Small Wonders',
  'Good Manners',
];
