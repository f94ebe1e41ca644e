
__constant__ float coef[8]={1.f,2.f,3.f}; __device__ int counter=7; __device__ int* ptr=&counter; __device__ double tab[2][2]={{1.,2.},{3.,4.}};
__device__ const char* name="hello"; extern __shared__ unsigned char dyn[];
struct S{int a; float b; double c[3];};
__device__ __noinline__ float helper(float x,int n){ float a=0; for(int i=0;i<n;i++){ if(x<i) break; if(i&1) continue; a+=x*i;} return a; }
__device__ float (*fp)(float,int)=helper;
__device__ __noinline__ S mk(int a){ S s; s.a=a; s.b=a*2.f; s.c[0]=a; s.c[1]=1; s.c[2]=2; return s;}
__device__ int fact(int n){ return n<2?1:n*fact(n-1);}
extern "C" __global__ void __launch_bounds__(256,2) k(S p, float* o,int n){ int i=threadIdx.x+blockIdx.x*blockDim.x; S q=mk(i); 
 if(i<n){ o[i]=helper(coef[i&7],n)+p.b+q.c[i%3]+dyn[i]+fp(2.f,i)+*ptr+tab[1][i&1]+name[i&3]; atomicAdd(&counter,1); printf("x %d %f\n",i,o[i]); if(i>=1000) __trap(); o[i]+=fact(i); }
 int l[16]; for(int j=0;j<16;j++) l[j]=o[j]; o[i]+=l[n&15]; o[i]=powf(o[i],2.3f)+sin((double)o[i]); 
 switch(n){case 0:o[0]=1;break;case 1:o[1]=3;break;case 2:o[5]=1;break;case 3: o[i]=9; break; case 4: o[i*2]=7; break; case 5: o[i*3]=1; break; case 6: o[i+9]=2;break; }
 o[i]+=__shfl_down_sync(~0u,o[i],1)+__popc(__ballot_sync(~0u,i<n))+__match_any_sync(~0u,n)+__reduce_add_sync(~0u,n)+clock64();
 }
