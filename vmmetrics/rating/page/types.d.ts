// What the server of a study sends to its pages, and takes: vmmetrics/rating/service.py and sessions.py.

/** What every rater sees. */
interface StudyPage {
  texts: Record<string, string>;
  /** Dimension to its question. */
  questions: Record<string, string>;
  /** Answers and their texts, in the order of the keys. */
  choices: [number, string][];
  /** Texts under the clips. */
  labels: string[];
  /** Difference from the right answer of a training item that is right too. */
  tolerance: number;
  /** Marks of a clip at most; 0 where there are none. */
  marks: number;
  /** Clips are played one after the other. */
  in_turn: boolean;
  /** Seconds of grey between them. */
  grey: number;
  /** Version of the text of consent. */
  consent: string;
  /** Parameters of the link that are kept. */
  parameters: string[];
}

interface RatedTrial {
  at: string;
  /** Names of its clips, of this trial alone. */
  media: string[];
  /** The answer that an attention check asks for. */
  asked: number | null;
  /** The right answer of a training item. */
  expected?: number | null;
  /** Dimension to its question, where trials have their own. */
  questions?: Record<string, string>;
}

interface RaterView {
  step: "consent" | "full" | "trial" | "done" | "withdrawn";
  consent?: string;
  session?: string;
  /** The rater's key, for the link that resumes. */
  key?: string;
  number?: number;
  total?: number;
  trial?: RatedTrial;
  /** Clips of the trial after it. */
  following?: string[];
  training?: RatedTrial[];
  further?: boolean;
  url?: string;
}

/** Left, top, right, bottom as shares of the frame. */
type MarkBox = [number, number, number, number];

/** When and where something is wrong, as stored. */
interface RatedMark {
  kind: number;
  begin: number;
  end: number;
  box: MarkBox;
}

/** What the rater of an offline page gave, as it is kept in the browser and saved. */
interface GivenAnswers {
  begun: string;
  answers: object[];
  withdrawn: boolean;
}

/** What an offline page has of its study: vmmetrics/rating/pack.py. */
interface RatingPack {
  /** What its file says beside the answers: whose they are, and the proof that the study made it. */
  given: { format: number; session: string; rater: string; key: string; consent: string };
  study: StudyPage;
  /** What is shown after so many answers. */
  views: RaterView[];
  /** Names of clips to the numbers of their blocks. */
  media: Record<string, number>;
}

/** How one clip was played, as stored. */
interface PlaybackRecord {
  ended: boolean;
  seconds: number;
  replays: number;
  frames: number;
  dropped: number;
  stalls: number;
  stalled: number;
  width: number;
  height: number;
}

interface AgreementFigure {
  value: number | null;
  low: number | null;
  high: number | null;
  note: string | null;
}

/** Figures of the owner's page. */
interface StudyFigures {
  path: string;
  design: string;
  items: number;
  votes: number;
  fewest: number;
  most: number;
  votes_wanted: number;
  votes_to_come: number;
  sessions: number;
  open: number;
  finished: number;
  counted: number;
  sessions_to_come: number;
  withdrawn: number;
  flagged: Record<string, number>;
  minutes: number;
  agreement: Record<string, Record<string, AgreementFigure>>;
  within_models: Record<string, { now: number | null; end: number | null }>;
  pay: number;
  currency: string;
}
