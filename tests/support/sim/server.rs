//! One lifetime of the process: the opened log, its writer driven step by step, and what it
//! publishes.

use super::disk::Disk;
use super::options::Options;
use super::watchers::with_contents_of;
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{
    Change, Command, Decision, Rejection, Revision, State, Submitted, Unavailable, builtin,
};
use hindsight_log::{Base, Error, Log, Publish, Reader, Stages, Writer};
use hindsight_projector::Window;
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex};

/// A frame limit at which two objects do not fit into one frame.
const SMALL_FRAME_BYTES: usize = 512;

/// The state before the first commit: the built-in kinds and nothing else.
pub fn empty() -> State {
    static EMPTY: LazyLock<State> =
        LazyLock::new(|| State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None))));
    State::clone(&EMPTY)
}

/// A durable batch as it was published.
pub type Published = (State, Vec<Arc<Change>>);

/// The answer to one command.
#[derive(Debug, Clone)]
pub enum Answer {
    /// It was carried out, or rejected.
    Decided(Result<Decision, Rejection>),
    /// It was turned away without being decided: too much waited.
    Overloaded,
    /// It was turned away without being decided: there was no room.
    NoRoom,
    /// The server failed: the outcome is not known.
    Unknown,
}

impl Answer {
    /// Shows the object with the contents that it had in this earlier state.
    pub fn show_older(&mut self, before: &State) {
        let Self::Decided(Ok(decision)) = self else {
            return;
        };
        let shown = decision.outcome.object();
        if let Some(older) = before.get(&shown.key) {
            let shown = with_contents_of(shown, older);
            decision.outcome = decision.outcome.with_object(shown);
        }
    }
}

/// Answers with the number of their command, in the order in which they came.
pub type Answers = Arc<Mutex<VecDeque<(u64, Answer)>>>;

/// A running process.
#[derive(Debug)]
pub struct Server {
    writer: Writer,
    stages: Stages,
    /// Reads the log.
    pub reader: Reader,
    /// The newest durable state.
    pub state: State,
    /// The window of the newest changes.
    pub window: Window,
    /// The revision of the last restore: positions before it have expired.
    pub restored: Revision,
    published: Arc<Mutex<Vec<Published>>>,
    answers: Answers,
}

struct Publisher(Arc<Mutex<Vec<Published>>>);

impl Publish for Publisher {
    fn publish(&mut self, state: State, changes: Vec<Arc<Change>>) {
        self.0.lock().expect("one thread").push((state, changes));
    }
}

impl Server {
    /// Opens the log as a starting process does.
    pub fn open(disk: &Arc<Disk>, base: Base, options: &Options) -> Result<Self, Error> {
        disk.refuse_thinned_over()?;
        let storage = Arc::<Disk>::clone(disk);
        let log = Log::open_from(storage, base)?;
        let state = log.state().clone();
        let published = Arc::default();
        let (reader, restored) = (log.reader.clone(), log.restored());
        let publisher = Publisher(Arc::clone(&published));
        let (writer, mut stages) = log.by_stages(Box::new(publisher));
        if options.small_frames {
            stages = stages.with_frames_of(SMALL_FRAME_BYTES);
        }
        Ok(Self {
            writer,
            stages,
            reader,
            window: Window::new(state.revision, options.window, usize::MAX),
            restored,
            state,
            published,
            answers: Answers::default(),
        })
    }

    /// Writes small frames from now on, so that a batch takes several.
    #[must_use]
    pub fn with_small_frames(self) -> Self {
        let stages = self.stages.with_frames_of(SMALL_FRAME_BYTES);
        Self { stages, ..self }
    }

    /// Submits commands, each with its number.
    pub fn submit(&self, commands: Vec<(u64, Command)>) {
        let (numbers, commands): (Vec<u64>, Vec<Command>) = commands.into_iter().unzip();
        let answers = Arc::clone(&self.answers);
        let reply = move |outcome: Submitted| {
            let of_all = |answer: Answer| vec![answer; numbers.len()];
            let each: Vec<Answer> = match outcome {
                Ok(each) => each.into_iter().map(Answer::Decided).collect(),
                Err(Unavailable::Full) => of_all(Answer::NoRoom),
                Err(Unavailable::Overloaded) => of_all(Answer::Overloaded),
                Err(Unavailable::Poisoned(_) | Unavailable::Stopping) => of_all(Answer::Unknown),
            };
            let mut answers = answers.lock().expect("one thread");
            answers.extend(numbers.into_iter().zip(each));
        };
        self.writer.submit(commands, Box::new(reply));
    }

    /// Turns commands away, as if too much waited.
    pub fn turn_away(&self, commands: &[(u64, Command)]) {
        let mut answers = self.answers.lock().expect("one thread");
        answers.extend(
            commands
                .iter()
                .map(|(number, _)| (*number, Answer::Overloaded)),
        );
    }

    /// Decides one batch; false if none waits.
    pub fn decide(&mut self) -> bool {
        self.stages.decide()
    }

    /// Makes one batch durable; false if none was decided.
    pub fn sync(&mut self) -> bool {
        self.stages.sync()
    }

    /// Takes what was published since the last call, and shows it to readers.
    pub fn take_published(&mut self) -> Vec<Published> {
        let published = std::mem::take(&mut *self.published.lock().expect("one thread"));
        for (state, changes) in &published {
            self.window.push(changes.iter().cloned());
            self.state = state.clone();
        }
        published
    }

    /// Takes the answers since the last call.
    pub fn take_answers(&self) -> VecDeque<(u64, Answer)> {
        std::mem::take(&mut *self.answers.lock().expect("one thread"))
    }
}
