/**
 * The blog posts of the demo, for readers who try Rollcall for the first time. Data only. demo.ts imports
 * them.
 */
import type { PostFields } from '../../storage/catalogue/content/blog.ts';

interface PostText {
  readonly slug: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly draft?: boolean;
  readonly paragraphs: readonly string[];
}

const texts: readonly PostText[] = [
  {
    slug: 'welcome',
    title: 'Welcome to the demo directory',
    description: 'What is in here, and what you can do with it.',
    tags: ['news'],
    paragraphs: [
      'Everything you see is made up: the bots, the servers, the teams and the people who vote for them.',
      'The tokens in `demo.json` are real, though. Post statistics of the bot with its token, vote as one ' +
        'of the two users, change the team, make a pack: it all counts, and it is there after a restart.',
      'When you have seen enough, stop the process, delete the data folder and start again with `DEMO=off`.',
    ],
  },
  {
    slug: 'how-votes-count',
    title: 'How votes count',
    description: 'One vote per wait, however often you press the button.',
    tags: ['votes', 'guide'],
    paragraphs: [
      'A vote is good for twelve hours. Premium entries can be voted for every four, and from Friday to ' +
        'Sunday the wait is six hours and every vote counts twice.',
      'The wait is kept where all nodes see it: two requests at the same moment are still one vote.',
      'The votes of an entry are up minus down. You see your own at once.',
    ],
  },
  {
    slug: 'posting-statistics',
    title: 'Posting statistics',
    description: 'As often as you like: posting is what the service is made for.',
    tags: ['bots', 'guide'],
    paragraphs: [
      'Send servers, shards, users and a status with a token of the bot. What you leave out stays as it was.',
      'A post is acknowledged when it is on disk, not before, and it is never counted twice.',
      'Posts also say that the bot is up: one every few minutes keeps its uptime whole.',
    ],
  },
  {
    slug: 'next-season',
    title: 'Next season',
    description: 'A draft, which only the operator sees.',
    tags: ['news'],
    draft: true,
    paragraphs: ['Nobody reads this yet.'],
  },
];

/** Returns the posts, written by this user. */
export const makeDemoPosts = (authorId: string): readonly PostFields[] =>
  texts.map(({ slug, title, description, tags, draft, paragraphs }) => ({
    slug,
    title,
    description,
    content: paragraphs.join('\n\n'),
    tags,
    authorId,
    draft: draft === true,
  }));
