//! Measures the memory of our own server: idle, with 10,000 objects, with 200,000, and after a
//! restart on the latter.

use crate::phase::each;
use crate::requests;
use crate::serving::Serving;
use anyhow::Result;
use hindsight_benches::client::Target;
use hindsight_benches::kubeconfig::Access;
use hindsight_benches::process;
use std::sync::Arc;

const CLIENTS: usize = 32;
const STEPS: [usize; 2] = [10_000, 200_000];

pub(crate) async fn run() -> Result<()> {
    let mut serving = Serving::start().await?;
    println!("memory idle      {:>8.1} MB", serving.resident_mb()?);
    let target = Arc::new(Target::new(&Access::read(&serving.kubeconfig())?)?);
    let mut made = 0;
    for objects in STEPS {
        let make = move |index| requests::create(made + index);
        let figures = each(&target, CLIENTS, objects - made, make).await?;
        made = objects;
        let (now, peak) = (serving.resident_mb()?, process::peak_mb(serving.pid()?)?);
        println!("memory at {objects:>6} {now:>8.1} MB, peak {peak:.1} MB  creates {figures}");
    }
    serving = serving.restart().await?;
    let (now, ready) = (serving.resident_mb()?, serving.ready.as_secs_f64());
    println!("started on them  {now:>8.1} MB, ready after {ready:.2} s");
    Ok(())
}
